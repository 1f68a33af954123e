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

// In units of the viewBox, which are pixels where a figure takes half of a wide page.
constexpr double kChartWidth = 560, kChartTop = 18, kRow = 24, kBar = 15, kLabelCharacter = 6.6;
constexpr double kChartRight = kChartWidth - 92;  // the text beside a full bar ends at the edge
constexpr int kTicks = 4;
constexpr double kWidestLabel = 250;

double left_of(const BarChart& chart) {
  std::size_t longest = 1;
  for (const auto& bar : chart.bars) longest = std::max(longest, display_width(bar.label));
  return std::min(kWidestLabel, 14 + kLabelCharacter * static_cast<double>(longest));
}

// What fits in front of a bar.
std::string short_label(const std::string& label) {
  const auto room = static_cast<std::size_t>((kWidestLabel - 14) / kLabelCharacter);
  if (display_width(label) <= room) return label;
  std::string out = label;
  while (display_width(out) >= room) {
    while ((static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
    out.pop_back();
  }
  return out + "…";
}

double bottom_of(const BarChart& chart) {
  return kChartTop + kRow * static_cast<double>(chart.bars.size());
}
double height_of(const BarChart& chart) { return bottom_of(chart) + 44; }

bool shown(const Bar& bar) { return bar.value && std::isfinite(*bar.value); }

Scale scale_of(const BarChart& chart) {
  double high = 0;
  for (const auto& bar : chart.bars)
    if (shown(bar)) high = std::max({high, *bar.value, bar.high});
  for (const auto& line : chart.references) high = std::max(high, line.y);
  return make_scale(0, std::min(high > 0 ? high : 1, kLargest), false, 0);
}

std::string chart_svg(const BarChart& chart) {
  const double left = left_of(chart), bottom = bottom_of(chart);
  const auto scale = scale_of(chart);
  const auto px = [&](double value) {
    return left + (kChartRight - left) * std::clamp(scale.place(value), 0.0, 1.0);
  };
  std::string grid, body;
  for (const auto& tick : scale.ticks(kTicks)) {
    grid += fmt::format("M{:.1f} {}V{:.1f}", px(tick.value), kChartTop, bottom);
    body += svg_text("tick", px(tick.value), bottom + 15, "middle", tick.label);
  }
  double y = kChartTop + kRow / 2;
  for (const auto& bar : chart.bars) {
    body += fmt::format("<g><title>{}: {}</title>", escape_html(bar.label), escape_html(bar.text)) +
            svg_text("label", left - 7, y + 4.5, "end", short_label(bar.label));
    double end = left;
    if (shown(bar)) {
      end = px(std::max(*bar.value, bar.high));
      body += fmt::format(
          "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>"
          "<path class=\"whisker\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>",
          left, y - kBar / 2, px(*bar.value) - left, kBar, px(bar.low), y, px(bar.high));
    }
    body += svg_text("tick", end + 6, y + 4.5, "start", bar.text) + "</g>\n";
    y += kRow;
  }
  for (const auto& line : chart.references)
    body += fmt::format("<path class=\"reference\" d=\"M{:.1f} {}V{:.1f}\"/>\n", px(line.y),
                        kChartTop, bottom) +
            svg_text("reference-label", px(line.y), kChartTop - 5, "middle", line.label);
  body += svg_text("title", (left + kChartRight) / 2, bottom + 36, "middle", chart.value_title);
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n"
      "<path class=\"grid\" d=\"{}\"/>\n<path class=\"axis\" d=\"M{:.1f} "
      "{}V{:.1f}H{}\"/>\n{}</svg>\n",
      kChartWidth, height_of(chart), escape_html(chart.title), grid, left, kChartTop, bottom,
      kChartRight, body);
}

}  // namespace

std::string bar_chart_html(const BarChart& chart) {
  return fmt::format(
      "<figure class=\"heat\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n{}</figure>\n",
      escape_html(chart.title), escape_html(chart.help), chart_svg(chart));
}

std::string svg_file(const BarChart& chart) {
  return svg_document(chart.title, {}, chart_svg(chart), kChartWidth, height_of(chart));
}

std::string points_csv(const BarChart& chart) {
  std::string out = "series,y,low,high\n";
  for (const auto& bar : chart.bars)
    out += escape_csv(bar.label) +
           (bar.value ? fmt::format(",{},{},{}\n", *bar.value, bar.low, bar.high) : ",,,\n");
  return out;
}

}  // namespace porter
