// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plot.hpp"
#include "report/text.hpp"
#include "series_style.hpp"
#include "svg_document.hpp"

namespace porter {
namespace {

constexpr double kWidth = 560, kHeight = 330;  // of the drawing
constexpr double kMargin = 16, kLine = 18, kCharacter = 6.6;
constexpr double kSwatch = 38;  // a piece of the line and the space around it

// Names from left to right, in as many lines as it takes.
SvgLegend legend_of(const Plot& plot) {
  SvgLegend legend;
  double x = kMargin, y = kSvgTitle + kLine / 2;
  for (const auto& series : plot.series) {
    if (series.companion) continue;
    const double width =
        kSwatch + kCharacter * static_cast<double>(display_width(series.name)) + 12;
    if (x > kMargin && x + width > kWidth) {
      x = kMargin;
      y += kLine;
    }
    const auto classes = style_classes(series);
    legend.svg +=
        series.points
            ? fmt::format("<circle class=\"mark {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>",
                          classes, x + 15, y)
            : fmt::format("<path class=\"line {}\" d=\"M{:.1f} {:.1f}h30\"/>", classes, x, y);
    legend.svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + kSwatch, y + 4.5,
                              escape_html(series.name));
    x += width;
  }
  legend.height = y - kSvgTitle + kLine;
  return legend;
}

std::string x_text(const Axis& axis, double x) {
  if (axis.labels.empty()) return fmt::format("{}", x);
  const auto place = static_cast<std::size_t>(std::max(1.0, std::round(x))) - 1;
  return place < axis.labels.size() ? escape_csv(axis.labels[place]) : fmt::format("{}", x);
}

}  // namespace

std::string svg_file(const Plot& plot) {
  return svg_document(plot.title, legend_of(plot), draw(plot, {plot.x.log, plot.y.log}).svg, kWidth,
                      kHeight);
}

std::string points_csv(const Plot& plot) {
  std::string out = "series,x,y,low,high\n";
  for (const auto& series : plot.series)
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      out += fmt::format("{},{},{}", escape_csv(series.name), x_text(plot.x, series.x[i]),
                         series.y[i]);
      out += series.band_low.empty()
                 ? std::string(",,\n")
                 : fmt::format(",{},{}\n", series.band_low[i], series.band_high[i]);
    }
  return out;
}

}  // namespace porter
