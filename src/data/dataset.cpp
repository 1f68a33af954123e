// SPDX-License-Identifier: Apache-2.0
#include "porter/data/dataset.hpp"

#include <cassert>

namespace porter {

Sample Dataset::operator[](std::size_t row) const {
  assert(row < rows());
  if (!sparse())
    return {.sparse = false,
            .values = {values.data() + row * features, features},
            .columns = {},
            .label = labels[row]};
  const auto begin = row_starts[row], count = row_starts[row + 1] - begin;
  return {.sparse = true,
          .values = {values.data() + begin, count},
          .columns = {columns.data() + begin, count},
          .label = labels[row]};
}

Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  Dataset out;
  out.features = data.features;
  out.classes = data.classes;
  out.labels.reserve(rows.size());
  if (data.sparse()) {
    out.row_starts.reserve(rows.size() + 1);
    out.row_starts.push_back(0);
  } else {
    out.values.reserve(rows.size() * data.features);
  }
  for (const auto row : rows) {
    const auto sample = data[row];
    out.values.insert(out.values.end(), sample.values.begin(), sample.values.end());
    out.columns.insert(out.columns.end(), sample.columns.begin(), sample.columns.end());
    if (data.sparse()) out.row_starts.push_back(out.values.size());
    out.labels.push_back(sample.label);
  }
  return out;
}

}  // namespace porter
