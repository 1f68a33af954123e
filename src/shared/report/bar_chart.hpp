// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/plot.hpp"

namespace porter {

struct Bar {
  std::string label;
  std::optional<double> value = {};
  double low = 0, high = 0;  ///< a whisker, where there is a value
  std::string text = {};     ///< beside the bar, or instead of it
};

/// Values of one figure, a bar each, from the top; the axis begins at 0.
struct BarChart {
  std::string title, help;
  std::string value_title;
  std::vector<Bar> bars = {};
  std::vector<ReferenceLine> references = {};  ///< across the bars
};

/// An HTML <figure> that needs no script: drawn for a wide page and for a narrow one.
std::string bar_chart_html(const BarChart& chart);

/// As for a Plot.
std::string svg_file(const BarChart& chart);
std::string points_csv(const BarChart& chart);

}  // namespace porter
