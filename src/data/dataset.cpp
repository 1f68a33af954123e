// SPDX-License-Identifier: Apache-2.0
#include "porter/data/dataset.hpp"

namespace porter {

Sample Dataset::operator[](std::size_t row) const {
  const std::size_t begin = sparse() ? row_starts[row] : row * features;
  const std::size_t count = sparse() ? row_starts[row + 1] - begin : features;
  return {.sparse = sparse(),
          .values = std::span(values).subspan(begin, count),
          .columns = sparse() ? std::span(columns).subspan(begin, count)
                              : std::span<const std::uint32_t>{},
          .label = labels[row]};
}

Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  Dataset out;
  out.features = data.features;
  out.classes = data.classes;
  if (data.sparse()) out.row_starts.push_back(0);
  for (const auto row : rows) {
    const Sample sample = data[row];
    out.values.insert(out.values.end(), sample.values.begin(), sample.values.end());
    out.columns.insert(out.columns.end(), sample.columns.begin(), sample.columns.end());
    if (data.sparse()) out.row_starts.push_back(out.values.size());
    out.labels.push_back(sample.label);
  }
  return out;
}

}  // namespace porter
