// SPDX-License-Identifier: Apache-2.0
#include "report/bar_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"
#include "scale.hpp"
#include "svg.hpp"

namespace porter {
namespace {

constexpr double kChartTop = 18, kRow = 24, kBar = 15, kLabelCharacter = 6.6;
constexpr double kLabelLine = 17;     // of a label that stands above its bar
constexpr double kWidestLabel = 250;  // that stands in front of it
constexpr int kTicks = 4;

std::size_t longest(const BarChart& chart, std::string Bar::*text) {
  std::size_t most = 1;
  for (const auto& bar : chart.bars) most = std::max(most, display_width(bar.*text));
  return most;
}

// Where things stand, in units of the viewBox: pixels where a wide one takes half of a wide page,
// and about pixels where a narrow one takes a telephone. Long labels stand above their bars, as
// cut ones may all look alike.
struct BarLayout {
  double width, left, right, row, bottom;
  bool stacked;
  double height() const { return bottom + 44; }
};

BarLayout layout_of(const BarChart& chart, bool narrow) {
  const double labels = 14 + kLabelCharacter * static_cast<double>(longest(chart, &Bar::label));
  const double texts = 8 + kLabelCharacter * static_cast<double>(longest(chart, &Bar::text));
  BarLayout layout{};
  layout.width = narrow ? 360 : 560;
  layout.stacked = labels > (narrow ? 90 : kWidestLabel);
  layout.left = layout.stacked ? 14 : labels;
  layout.right = layout.width - std::max(40.0, texts);
  layout.row = kRow + (layout.stacked ? kLabelLine : 0);
  layout.bottom = kChartTop + layout.row * static_cast<double>(chart.bars.size());
  return layout;
}

// What fits in a line.
std::string short_label(const std::string& label, double width) {
  const auto room = static_cast<std::size_t>((width - 14) / kLabelCharacter);
  if (display_width(label) <= room) return label;
  std::string out = label;
  while (display_width(out) >= room) {
    while ((static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
    out.pop_back();
  }
  return out + "…";
}

std::string label_svg(const std::string& label, const BarLayout& layout, double y) {
  return layout.stacked ? svg_text("label", layout.left + 5, y - kBar / 2 - 5, "start",
                                   short_label(label, layout.width))
                        : svg_text("label", layout.left - 7, y + 4.5, "end", label);
}

bool shown(const Bar& bar) { return bar.value && std::isfinite(*bar.value); }

Scale scale_of(const BarChart& chart) {
  double high = 0;
  for (const auto& bar : chart.bars)
    if (shown(bar)) high = std::max({high, *bar.value, bar.high});
  for (const auto& line : chart.references) high = std::max(high, line.y);
  return make_scale(0, std::min(high > 0 ? high : 1, kLargest), false, 0);
}

// Over the line, but inside the drawing.
std::string reference_label(const ReferenceLine& line, double width, double x) {
  const double half = kLabelCharacter * static_cast<double>(display_width(line.label)) / 2;
  return svg_text("reference-label", std::clamp(x, half, std::max(half, width - half)),
                  kChartTop - 5, "middle", line.label);
}

std::string chart_svg(const BarChart& chart, const char* style, const BarLayout& layout) {
  const double left = layout.left, bottom = layout.bottom;
  const auto scale = scale_of(chart);
  const auto px = [&](double value) {
    return left + (layout.right - left) * std::clamp(scale.place(value), 0.0, 1.0);
  };
  std::string grid, body;
  for (const auto& tick : scale.ticks(kTicks)) {
    grid += fmt::format("M{:.1f} {}V{:.1f}", px(tick.value), kChartTop, bottom);
    body += svg_text("tick", px(tick.value), bottom + 15, "middle", tick.label);
  }
  double y = kChartTop + layout.row - kRow / 2;
  for (const auto& bar : chart.bars) {
    body += fmt::format("<g><title>{}: {}</title>", escape_html(bar.label), escape_html(bar.text)) +
            label_svg(bar.label, layout, y);
    double end = left;
    if (shown(bar)) {
      end = px(std::max(*bar.value, bar.high));
      body += fmt::format(
          "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>", left,
          y - kBar / 2, px(*bar.value) - left, kBar);
      if (bar.low < bar.high)
        body += fmt::format("<path class=\"whisker\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", px(bar.low), y,
                            px(bar.high));
    }
    body += svg_text("tick", end + 6, y + 4.5, "start", bar.text) + "</g>\n";
    y += layout.row;
  }
  for (const auto& line : chart.references)
    body += fmt::format("<path class=\"reference\" d=\"M{:.1f} {}V{:.1f}\"/>\n", px(line.y),
                        kChartTop, bottom) +
            reference_label(line, layout.width, px(line.y));
  body += svg_text("title", (left + layout.right) / 2, bottom + 36, "middle", chart.value_title);
  return fmt::format(
      "<svg class=\"{}\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n"
      "<path class=\"grid\" d=\"{}\"/>\n<path class=\"axis\" d=\"M{:.1f} "
      "{}V{:.1f}H{:.1f}\"/>\n{}</svg>\n",
      style, layout.width, layout.height(), escape_html(chart.title), grid, left, kChartTop, bottom,
      layout.right, body);
}

}  // namespace

std::string bar_chart_html(const BarChart& chart) {
  return fmt::format(
      "<figure class=\"heat\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n{}{}</figure>\n",
      escape_html(chart.title), escape_html(chart.help),
      chart_svg(chart, "chart wide", layout_of(chart, false)),
      chart_svg(chart, "chart narrow", layout_of(chart, true)));
}

std::string svg_file(const BarChart& chart) {
  const auto layout = layout_of(chart, false);
  return svg_document(chart.title, {}, chart_svg(chart, "chart", layout), layout.width,
                      layout.height());
}

std::string points_csv(const BarChart& chart) {
  std::string out = "series,y,low,high\n";
  for (const auto& bar : chart.bars)
    out += escape_csv(bar.label) +
           (bar.value ? fmt::format(",{},{},{}\n", *bar.value, bar.low, bar.high) : ",,,\n");
  return out;
}

}  // namespace porter
