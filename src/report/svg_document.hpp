// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace porter {

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
