// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "report/plot.hpp"
#include "report/text.hpp"
#include "svg.hpp"

namespace porter {
namespace {

std::vector<bool> choices(const Axis& axis) {
  return axis.offer_log ? std::vector<bool>{false, true} : std::vector<bool>{axis.log};
}

// The style sheet shows the one view that fits the two boxes. An axis without a choice has its box
// too, hidden, so that the same rules serve.
std::string log_switch(const Axis& axis, const char* name, const std::string& id) {
  const auto box = fmt::format("<input type=\"checkbox\" class=\"log-{}\" id=\"{}-{}\"{}{}/>", name,
                               id, name, axis.log ? " checked=\"checked\"" : "",
                               axis.offer_log ? "" : " hidden=\"hidden\"");
  return box + (axis.offer_log
                    ? fmt::format("<label for=\"{}-{}\">log {}</label>\n", id, name, name)
                    : "\n");
}

// A piece of the line, with a mark where the line has them; 30 wide.
std::string swatch(const Series& series, double x, double y) {
  const auto classes = style_classes(series);
  std::string out;
  if (!series.points)
    out += fmt::format("<path class=\"line {}\" d=\"M{:.1f} {:.1f}h28\"/>", classes, x + 1, y);
  if (series.points || series.is_sparse())
    out += fmt::format("<circle class=\"mark {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", classes,
                       x + 15, y);
  return out;
}

std::string legend(const Plot& plot) {
  std::string out = "<p class=\"legend\">";
  for (const auto& series : plot.series)
    if (!series.companion)
      out += fmt::format("<span><svg viewBox=\"0 0 30 8\" aria-hidden=\"true\">{}</svg>{}</span> ",
                         swatch(series, 0, 4), escape_html(series.name));
  return out + "</p>\n";
}

// Text as a JSON string that cannot end the <script> element around it.
std::string script_text(const std::string& text) {
  return replaced(json_text(text), '<', "\\u003c");
}

std::string numbers(const std::vector<double>& values, const std::vector<std::size_t>& picked) {
  std::string out;
  for (const auto i : picked) out += fmt::format("{}{:.6g}", out.empty() ? "" : ",", values[i]);
  return out;
}

// The drawn points, for the read-out under the pointer.
std::string point_data(const Plot& plot, const DrawnPoints& points) {
  std::string out;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const auto& series = plot.series[s];
    out += fmt::format("{}{{\"name\":{},\"x\":[{}],\"y\":[{}]}}", out.empty() ? "" : ",",
                       script_text(series.name), numbers(series.x, points[s]),
                       numbers(series.y, points[s]));
  }
  return fmt::format(
      "<script type=\"application/json\">{{\"x\":{},\"y\":{},\"series\":[{}]}}</script>\n",
      script_text(plot.x.title), script_text(plot.y.title), out);
}

constexpr double kMargin = 16, kLine = 18, kLegendCharacter = 7.4;
constexpr double kSwatch = 38;  // a piece of the line and the space around it

// Names from left to right, in as many lines as it takes.
SvgLegend legend_of(const Plot& plot) {
  SvgLegend legend;
  double x = kMargin, y = kSvgTitle + kLine / 2;
  for (const auto& series : plot.series) {
    if (series.companion) continue;
    const double width =
        kSwatch + kLegendCharacter * static_cast<double>(display_width(series.name)) + 12;
    if (x > kMargin && x + width > kDrawingWidth) {
      x = kMargin;
      y += kLine;
    }
    legend.svg += swatch(series, x, y);
    legend.svg += svg_text("name", x + kSwatch, y + 4.5, "start", series.name);
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

std::string figure_html(const Plot& plot, const std::string& id) {
  std::string views, data;
  for (const bool x : choices(plot.x))
    for (const bool y : choices(plot.y)) {
      const auto drawing = draw(plot, {x, y});
      const auto note = drawing.note.empty()
                            ? ""
                            : fmt::format("<p class=\"note\">{}</p>\n", escape_html(drawing.note));
      views += fmt::format("<div class=\"view {} {}\">\n{}{}</div>\n", x ? "x-log" : "x-linear",
                           y ? "y-log" : "y-linear", drawing.svg, note);
      if (x == plot.x.log && y == plot.y.log) data = point_data(plot, drawing.points);
    }
  return fmt::format(
      "<figure class=\"plot\" id=\"{}\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n{}"
      "{}{}{}{}</figure>\n",
      id, escape_html(plot.title), escape_html(plot.help), legend(plot),
      log_switch(plot.x, "x", id), log_switch(plot.y, "y", id), views, data);
}

std::string tabs_html(const std::vector<TabFigure>& figures, const std::string& id) {
  if (figures.size() == 1) return figure_html(figures.front().plot, id);
  std::string tabs, panels;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto part = fmt::format("{}-{}", id, i + 1);
    tabs += fmt::format(
        "<input type=\"radio\" name=\"{}\" id=\"{}-tab\"{}/><label for=\"{}-tab\">{}</label>\n", id,
        part, i == 0 ? " checked=\"checked\"" : "", part, escape_html(figures[i].tab));
    panels += "<div class=\"panel\">\n" + figure_html(figures[i].plot, part) + "</div>\n";
  }
  return "<div class=\"tabs\">\n" + tabs + panels + "</div>\n";
}

std::string svg_file(const Plot& plot) {
  return svg_document(plot.title, legend_of(plot), draw(plot, {plot.x.log, plot.y.log}).svg,
                      kDrawingWidth, kDrawingHeight);
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
