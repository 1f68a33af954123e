// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdlib>

#include "data/table.hpp"

/// A table that a decoder returns has as many of everything as it has rows, and only finite
/// numbers, also where it has kept rows that it could not read.
inline void expect_whole(const porter::FileTable& table) {
  const auto& data = table.data;
  const auto rows = table.rows();
  bool whole = rows > 0 && data.features > 0 && data.voids.size() <= rows && data.outputs > 0 &&
               table.labels.size() == rows * data.outputs &&
               (table.lines.empty() || table.lines.size() == rows);
  whole = whole && (data.sparse() ? data.row_starts.size() == rows + 1 &&
                                        data.row_starts.back() == data.values.size() &&
                                        data.columns.size() == data.values.size()
                                  : data.values.size() == rows * data.features);
  for (const float value : data.values) whole = whole && std::isfinite(value);
  for (const double label : table.labels) whole = whole && std::isfinite(label);
  whole = whole && (data.weights.empty() || data.weights.size() == rows);
  for (const float weight : data.weights) whole = whole && weight >= 0 && weight <= 1;
  if (!whole) std::abort();
}
