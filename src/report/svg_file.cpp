// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "porter/report/plot.hpp"
#include "series_style.hpp"
#include "text.hpp"

namespace porter {
namespace {

constexpr double kWidth = 560, kHeight = 330;  // of the drawing
constexpr double kMargin = 16, kTitle = 24, kLegendLine = 18, kCharacter = 6.6;
constexpr double kSwatch = 38;  // a piece of the line and the space around it

// The light colours of the page, without variables, which not every reader of SVG knows.
constexpr std::array<const char*, kColours> kInks = {"#0072b2", "#d55e00", "#00875f", "#b4558f",
                                                     "#b07d00", "#2f9bd6", "#4a4f57"};
constexpr std::array<const char*, kDashes> kPatterns = {"none", "8 3", "3 2", "9 3 2 3",
                                                        "12 3 2 3 2 3"};

std::string style() {
  std::string css =
      "text{fill:#1c2430;font:12.5px Helvetica,Arial,sans-serif}"
      ".head{font-size:15px;font-weight:bold}.tick,.reference-label{fill:#5a6675;font-size:12px}"
      ".grid,.axis,.line,.reference,.cross{fill:none}.grid{stroke:#e9ecf0}.axis{stroke:#5a6675}"
      ".line{stroke-width:2;stroke-linejoin:round}.cross{stroke-width:2.5}"
      ".reference{stroke:#5a6675;stroke-width:1.5;stroke-dasharray:7 5}.band{opacity:0.14}";
  for (std::size_t i = 0; i < kColours; ++i)
    css += fmt::format(".line.c{0},.cross.c{0}{{stroke:{1}}}.mark.c{0},.band.c{0}{{fill:{1}}}", i,
                       kInks[i]);
  for (std::size_t i = 1; i < kDashes; ++i)
    css += fmt::format(".line.d{}{{stroke-dasharray:{}}}", i, kPatterns[i]);
  return css + ".line.companion{stroke-width:1.4;stroke-dasharray:1.5 2.5}";
}

struct Legend {
  std::string svg;
  double height = 0;
};

// Names from left to right, in as many lines as it takes.
Legend legend_of(const Plot& plot, double top) {
  Legend legend;
  double x = kMargin, y = top + kLegendLine / 2;
  for (const auto& series : plot.series) {
    if (series.companion) continue;
    const double width =
        kSwatch + kCharacter * static_cast<double>(display_width(series.name)) + 12;
    if (x > kMargin && x + width > kWidth) {
      x = kMargin;
      y += kLegendLine;
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
  legend.height = y - top + kLegendLine;
  return legend;
}

std::string x_text(const Axis& axis, double x) {
  if (axis.labels.empty()) return fmt::format("{}", x);
  const auto place = static_cast<std::size_t>(std::max(1.0, std::round(x))) - 1;
  return place < axis.labels.size() ? escape_csv(axis.labels[place]) : fmt::format("{}", x);
}

}  // namespace

std::string svg_file(const Plot& plot) {
  const auto legend = legend_of(plot, kTitle + 8);
  const double top = kTitle + 8 + legend.height;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0} {1:.0f}\">\n<style>{2}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text class=\"head\" x=\"{3}\" y=\"{4}\">{5}</text>\n{6}"
      "<svg x=\"0\" y=\"{7:.0f}\" width=\"{0}\" height=\"{8}\">\n{9}</svg>\n</svg>\n",
      kWidth, top + kHeight, style(), kMargin, kTitle, escape_html(plot.title), legend.svg, top,
      kHeight, draw(plot, {plot.x.log, plot.y.log}).svg);
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
