// SPDX-License-Identifier: Apache-2.0
#include "report/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/text.hpp"
#include "scale.hpp"
#include "svg.hpp"

namespace porter {
namespace {

// In units of the viewBox, which are pixels where the page has room for them.
constexpr double kLeastWidth = 360, kMostWidth = 560;  // the least fits on a telephone
constexpr double kMapTop = 8, kLeastCell = 36, kCellCharacter = 7.2;
constexpr double kLegendHeight = 46, kLegendLine = 15;
constexpr double kDecade = 10;  // from here on colours go by factors

struct Colour {
  double r, g, b;
};
// Viridis (van der Walt, Smith), from worst to best: even to the eye and to the colour-blind.
constexpr std::array<Colour, 6> kViridis = {
    {{68, 1, 84}, {65, 68, 135}, {42, 120, 142}, {34, 168, 132}, {122, 209, 81}, {253, 231, 37}}};

Colour colour_at(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kViridis.size() - 1);
  const auto i = std::min<std::size_t>(static_cast<std::size_t>(at), kViridis.size() - 2);
  const double t = at - static_cast<double>(i);
  const auto mix = [t](double a, double b) { return a + t * (b - a); };
  return {mix(kViridis[i].r, kViridis[i + 1].r), mix(kViridis[i].g, kViridis[i + 1].g),
          mix(kViridis[i].b, kViridis[i + 1].b)};
}

std::string hex(const Colour& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(c.r), std::lround(c.g), std::lround(c.b));
}

// Black or white, whatever is easier to read on the colour.
const char* ink_on(const Colour& c) {
  return 0.299 * c.r + 0.587 * c.g + 0.114 * c.b > 140 ? "#101418" : "#ffffff";
}

// 0 for the worst value of the map, 1 for the best; by factors where the values differ by many.
class Shade {
 public:
  explicit Shade(const HeatMap& map) : higher_is_better_(map.higher_is_better) {
    for (const auto& cell : map.cells)
      if (cell.value) range_.add(*cell.value);
    if (map.range) range_ = *map.range;
    scale_ = {range_.low, range_.high, !map.range && range_.beyond(kDecade)};
  }
  double share(double value) const {
    if (!(range_.high > range_.low)) return 1;
    const double up = scale_.place(value);
    return higher_is_better_ ? up : 1 - up;
  }
  double worst() const { return higher_is_better_ ? range_.low : range_.high; }
  double best() const { return higher_is_better_ ? range_.high : range_.low; }
  bool log() const { return scale_.log; }
  /// Where the colours are half way.
  double middle() const {
    return scale_.log ? std::sqrt(range_.low) * std::sqrt(range_.high)
                      : range_.low + (range_.high - range_.low) / 2;
  }

 private:
  Range range_;
  Scale scale_;
  bool higher_is_better_;
};

struct MapLayout {
  double width, left, cell_width, cell_height, bottom, label_height;
  bool slanted, texts;  // whether labels of x are, whether cells have room for their texts
  double label_end() const { return bottom + label_height + 26; }
};

double width_of(std::string_view text) {
  return static_cast<double>(display_width(text)) * kCellCharacter;
}

double longest(const std::vector<std::string>& labels) {
  double most = kCellCharacter;
  for (const auto& label : labels) most = std::max(most, width_of(label));
  return most;
}

std::string text_of(const HeatCell& cell) {
  return cell.text.empty() && cell.value ? format_number(*cell.value) : cell.text;
}

// As wide as its texts ask for, up to `most`. Either all of them are written or none: a gap would
// look like a value of its own.
MapLayout layout_of(const HeatMap& map, double most) {
  const auto columns = static_cast<double>(map.x.size()), rows = static_cast<double>(map.y.size());
  double text = 0;
  for (const auto& cell : map.cells) text = std::max(text, width_of(text_of(cell)));
  MapLayout layout{};
  layout.left = std::min(220.0, 34 + longest(map.y));
  const double around = layout.left + 4;
  layout.width =
      std::clamp(around + columns * (std::max(text, longest(map.x)) + 12), kLeastWidth, most);
  layout.cell_width = (layout.width - around) / columns;
  layout.texts = layout.cell_width >= text + 4;
  layout.cell_height = std::max(kLeastCell, (width_of(map.y_title) + 8) / rows);
  layout.bottom = kMapTop + layout.cell_height * rows;
  layout.slanted = longest(map.x) > layout.cell_width - 4;
  layout.label_height = layout.slanted ? std::min(120.0, 12 + 0.7 * longest(map.x)) : 18;
  return layout;
}

std::string cell_svg(const HeatCell& cell, const Shade& shade, const MapLayout& layout, double x,
                     double y) {
  const double width = layout.cell_width, height = layout.cell_height;
  const auto colour = cell.value ? colour_at(shade.share(*cell.value)) : Colour{};
  const auto fill =
      cell.value ? "fill=\"" + hex(colour) + "\""
                 : std::string(cell.text.empty() ? "class=\"untried\"" : "class=\"unfinished\"");
  std::string out = fmt::format(
      "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>",
      escape_html(cell.tip), x + 1, y + 1, width - 2, height - 2, fill);
  if (const auto text = text_of(cell); layout.texts && !text.empty())
    out += fmt::format(
        "<text class=\"cell{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\"{}>{}</text>",
        cell.value ? "" : " unfinished-text", x + width / 2, y + height / 2 + 4.5,
        cell.value ? fmt::format(" style=\"fill:{}\"", ink_on(colour)) : "", escape_html(text));
  if (cell.best)
    out += fmt::format(
        "<rect class=\"best-cell\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
        x + 2.5, y + 2.5, width - 5, height - 5);
  return out + "</g>\n";
}

std::string labels_svg(const HeatMap& map, const MapLayout& layout) {
  std::string out;
  for (std::size_t i = 0; i < map.x.size(); ++i) {
    const double x = layout.left + layout.cell_width * (static_cast<double>(i) + 0.5);
    out += layout.slanted
               ? fmt::format(
                     "<text class=\"tick\" transform=\"translate({:.1f} {:.1f}) rotate(-40)\" "
                     "text-anchor=\"end\">{}</text>\n",
                     x + 4, layout.bottom + 13, escape_html(map.x[i]))
               : svg_text("tick", x, layout.bottom + 15, "middle", map.x[i]);
  }
  for (std::size_t j = 0; j < map.y.size(); ++j)
    out += svg_text("tick", layout.left - 6,
                    layout.bottom - layout.cell_height * (static_cast<double>(j) + 0.5) + 4, "end",
                    map.y[j]);
  return out +
         svg_text("title", (layout.left + layout.width) / 2,
                  layout.bottom + layout.label_height + 18, "middle", map.x_title) +
         svg_side_title((kMapTop + layout.bottom) / 2, map.y_title);
}

// What the colours mean, below the map; `height` grows to its end.
std::string legend_svg(const HeatMap& map, const Shade& shade, const MapLayout& layout,
                       double& height) {
  constexpr int kSteps = 48;
  const auto worst = format_number(shade.worst()), best = format_number(shade.best());
  const double bar =
      std::min(220.0, layout.width - 2 * (std::max(width_of(worst), width_of(best)) + 10));
  const double middle = layout.width / 2, from = middle - bar / 2, y = layout.label_end() + 18;
  std::string out;
  for (int i = 0; i < kSteps; ++i)
    out +=
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"9\" fill=\"{}\"/>",
                    from + bar * i / kSteps, y, bar / kSteps + 0.6,
                    hex(colour_at(static_cast<double>(i) / (kSteps - 1))));
  out += '\n' + svg_text("tick", from - 7, y + 9, "end", worst) +
         svg_text("tick", from + bar + 7, y + 9, "start", best) +
         svg_text("tick", middle, y + 24, "middle", map.value_title);
  height = layout.label_end() + kLegendHeight;
  if (!shade.log()) return out;
  height += kLegendLine;
  return out + svg_text("tick", middle, y + 24 + kLegendLine, "middle",
                        fmt::format("by factors, half way at {}", format_number(shade.middle())));
}

std::string map_svg(const HeatMap& map, const MapLayout& layout, const char* style) {
  const Shade shade(map);
  std::string cells;
  for (std::size_t j = 0; j < map.y.size(); ++j)
    for (std::size_t i = 0; i < map.x.size(); ++i)
      cells += cell_svg(map.cells[j * map.x.size() + i], shade, layout,
                        layout.left + layout.cell_width * static_cast<double>(i),
                        layout.bottom - layout.cell_height * static_cast<double>(j + 1));
  double height = 0;
  const auto legend = legend_svg(map, shade, layout, height);
  return fmt::format(
      "<svg class=\"{}\" style=\"--width:{:.0f}px\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n{}{}{}</svg>\n",
      style, layout.width, layout.width, height, escape_html(map.title), cells,
      labels_svg(map, layout), legend);
}

}  // namespace

std::string heat_map_html(const HeatMap& map) {
  const auto wide = layout_of(map, kMostWidth), narrow = layout_of(map, kLeastWidth);
  const bool both = narrow.width < wide.width && narrow.texts;
  return fmt::format(
      "<figure class=\"heat\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n{}{}</figure>\n",
      escape_html(map.title), escape_html(map.help),
      map_svg(map, wide, both ? "chart wide" : "chart"),
      both ? map_svg(map, narrow, "chart narrow") : "");
}

}  // namespace porter
