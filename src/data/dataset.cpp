// SPDX-License-Identifier: Apache-2.0
#include "porter/data/dataset.hpp"

#include <algorithm>
#include <cassert>

#include "core/device.hpp"
#include "porter/core/rows.hpp"

namespace porter {

Sample Dataset::operator[](std::size_t row) const {
  assert(row < rows());
  const auto answers = targets(row);
  const float weight = weights.empty() ? 1 : weights[row];
  if (!sparse())
    return {
        .sparse = false,
        .values = {lent_rows.empty() ? values.data() + row * features : lent_rows[row], features},
        .columns = {},
        .label = answers[0],
        .targets = answers,
        .weight = weight};
  const auto begin = row_starts[row], count = row_starts[row + 1] - begin;
  return {.sparse = true,
          .values = {values.data() + begin, count},
          .columns = {columns.data() + begin, count},
          .label = answers[0],
          .targets = answers,
          .weight = weight};
}

void Dataset::prefetch(std::size_t row) const {
  // Inlined by order: GCC drops calls of what does nothing but prefetch.
  const auto lines = [](const auto& part) PORTER_INLINE {
    const auto* bytes = reinterpret_cast<const char*>(part.data());
    for (std::size_t i = 0; i < part.size_bytes(); i += kLineBytes) __builtin_prefetch(bytes + i);
    // A row seldom starts with a line, so the last one is another.
    if (!part.empty()) __builtin_prefetch(bytes + part.size_bytes() - 1);
  };
  const Sample sample = (*this)[row];
  lines(sample.values);
  lines(sample.columns);
}

void Dataset::prefetch_place(std::size_t row) const {
  __builtin_prefetch(labels.data() + row * outputs);
  if (sparse()) __builtin_prefetch(row_starts.data() + row);
}

std::size_t Dataset::void_rows() const {
  return static_cast<std::size_t>(std::count(voids.begin(), voids.end(), 1));
}

double Dataset::weight_of(std::size_t first, std::size_t last) const {
  if (weights.empty()) return static_cast<double>(last - first);
  double sum = 0;
  for (std::size_t row = first; row < last; ++row) sum += weight(row);
  return sum;
}

double Dataset::counted_weight() const {
  if (weights.empty()) return static_cast<double>(rows() - void_rows());
  double sum = 0;
  for (std::size_t row = 0; row < rows(); ++row) sum += is_void(row) ? 0 : weight(row);
  return sum;
}

void write_features(const Sample& sample, std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    out[sample.sparse ? sample.columns[i] : i] = sample.values[i];
}

Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  Dataset out;
  out.features = data.features;
  out.classes = data.classes;
  out.outputs = data.outputs;
  out.labels.reserve(rows.size() * data.outputs);
  if (data.sparse()) {
    out.row_starts.reserve(rows.size() + 1);
    out.row_starts.push_back(0);
  }
  if (data.lent_rows.empty())
    out.values.reserve(data.sparse() ? 0 : rows.size() * data.features);
  else
    out.keepers = data.keepers;
  for (const auto row : rows) {
    const auto sample = data[row];
    if (data.lent_rows.empty())
      out.values.insert(out.values.end(), sample.values.begin(), sample.values.end());
    else
      out.lent_rows.push_back(sample.values.data());
    out.columns.insert(out.columns.end(), sample.columns.begin(), sample.columns.end());
    if (data.sparse()) out.row_starts.push_back(out.values.size());
    out.labels.insert(out.labels.end(), sample.targets.begin(), sample.targets.end());
    if (!data.voids.empty()) out.voids.push_back(data.is_void(row) ? 1 : 0);
    if (!data.weights.empty()) out.weights.push_back(data.weights[row]);
  }
  return out;
}

Dataset lend_rows(Dataset data) {
  if (data.sparse() || !data.lent_rows.empty()) return data;
  const auto kept = std::make_shared<const std::vector<float>>(std::move(data.values));
  data.values = {};
  for (std::size_t row = 0; row < data.rows(); ++row)
    data.lent_rows.push_back(kept->data() + row * data.features);
  data.keepers = {kept};
  return data;
}

void own_rows(Dataset& data) {
  if (data.lent_rows.empty()) return;
  data.values.reserve(data.entries());
  for (const float* row : data.lent_rows)
    data.values.insert(data.values.end(), row, row + data.features);
  data.lent_rows.clear();
  data.keepers.clear();
}

std::optional<Dataset> counted_rows(const Dataset& data) {
  if (data.void_rows() == 0) return std::nullopt;
  std::vector<std::uint32_t> rows;
  for (std::size_t row = 0; row < data.rows(); ++row)
    if (!data.is_void(row)) rows.push_back(static_cast<std::uint32_t>(row));
  auto counted = select_rows(data, rows);
  counted.voids.clear();
  return counted;
}

}  // namespace porter
