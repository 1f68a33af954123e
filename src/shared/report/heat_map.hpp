// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace porter {

struct HeatCell {
  std::optional<double> value = {};
  std::string text = {};  ///< shown where there is no value; empty: nothing was tried here
  std::string tip = {};   ///< shown under the pointer
  bool best = false;      ///< framed
};

/// A figure over two quantities that take few values each. Bright is good.
struct HeatMap {
  std::string title, help;
  std::string x_title, y_title, value_title;
  bool higher_is_better = false;
  std::vector<std::string> x = {}, y = {};  ///< labels; y counts from the bottom
  std::vector<HeatCell> cells = {};         ///< y-major: cells[j * x.size() + i]
};

/// An HTML <figure> that needs no script.
std::string heat_map_html(const HeatMap& map);

}  // namespace porter
