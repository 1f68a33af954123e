// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "report/plot.hpp"

namespace porter {

/// Classes of the style sheet. The two counts share no divisor, so 35 lines look different.
inline constexpr std::size_t kColours = 7, kDashes = 5;
std::string style_classes(const Series& series);

/// A <text> of a class of the style sheet; `anchor` is start, middle or end.
std::string svg_text(const char* style, double x, double y, const char* anchor,
                     std::string_view text);
/// The title of a y axis, in the middle of it.
std::string svg_side_title(double y, std::string_view text);

/// Names and samples of lines, drawn below a title.
struct SvgLegend {
  std::string svg = {};
  double height = 0;
};
inline constexpr double kSvgTitle = 32;  ///< the height of a title

/// A file of its own around an <svg> element of the page: a title, its legend, and the colours of
/// the page's style sheet in light.
std::string svg_document(const std::string& title, const SvgLegend& legend,
                         const std::string& drawing, double width, double height);

}  // namespace porter
