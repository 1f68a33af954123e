// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/plot.hpp"

namespace porter {

struct HeatCell {
  std::optional<double> value = {};
  /// Shown instead of the value. Neither: nothing was tried here.
  std::string text = {};
  std::string tip = {};  ///< shown under the pointer
  bool best = false;     ///< framed
};

/// A figure over two quantities that take few values each. Bright is good.
struct HeatMap {
  std::string title, help;
  std::string x_title, y_title, value_title;
  bool higher_is_better = false;
  std::optional<Range> range = {};          ///< of the colours; else that of the values
  std::vector<std::string> x = {}, y = {};  ///< labels; y counts from the bottom
  std::vector<HeatCell> cells = {};         ///< y-major: cells[j * x.size() + i]
};

/// An HTML <figure> that needs no script; drawn once more for a narrow page where that helps.
std::string heat_map_html(const HeatMap& map);

}  // namespace porter
