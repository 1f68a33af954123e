// SPDX-License-Identifier: Apache-2.0
#include "data/summary.hpp"

#include <algorithm>
#include <numeric>

namespace porter {

std::vector<std::size_t> class_counts(const Dataset& data) {
  std::vector<std::uint32_t> all(data.rows());
  std::iota(all.begin(), all.end(), 0U);
  return class_counts(data, all);
}

std::vector<std::size_t> class_counts(const Dataset& data, std::span<const std::uint32_t> rows) {
  std::vector<std::size_t> counts(data.classes.size(), 0);
  if (counts.empty()) return counts;
  for (const auto row : rows)
    if (!data.is_void(row)) ++counts[static_cast<std::size_t>(data.labels[row])];
  return counts;
}

std::vector<double> class_weights(const Dataset& data) {
  std::vector<double> weights(data.classes.size(), 0);
  if (weights.empty()) return weights;
  for (std::size_t row = 0; row < data.rows(); ++row)
    if (!data.is_void(row)) weights[static_cast<std::size_t>(data.labels[row])] += data.weight(row);
  return weights;
}

std::optional<std::size_t> majority_class(const Dataset& data) {
  const auto weights = class_weights(data);
  if (weights.empty()) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::max_element(weights) - weights.begin());
}

double class_rate(const Dataset& data, std::size_t class_number) {
  const double all = data.counted_weight();
  return all > 0 ? class_weights(data)[class_number] / all : 0;
}

// Measured from the first record: what is equal is then exactly its mean.
double target_spread(const Dataset& data) {
  double spread = 0;
  for (std::size_t o = 0; o < data.outputs; ++o) {
    double first = 0, sum = 0, weights = 0, squares = 0;
    for (std::size_t row = 0; row < data.rows(); ++row) {
      const double weight = data.is_void(row) ? 0 : data.weight(row);
      if (weight == 0) continue;
      if (weights == 0) first = data.targets(row)[o];
      sum += weight * (double{data.targets(row)[o]} - first);
      weights += weight;
    }
    const double mean = weights > 0 ? first + sum / weights : 0;
    for (std::size_t row = 0; row < data.rows(); ++row) {
      const double off = data.is_void(row) ? 0 : double{data.targets(row)[o]} - mean;
      squares += data.weight(row) * (off * off);
    }
    spread += squares;
  }
  return spread;
}

double density(const Dataset& data) {
  std::size_t non_zeros = 0;
  for (std::size_t row = 0; row < data.rows(); ++row)
    non_zeros += static_cast<std::size_t>(
        std::ranges::count_if(data[row].values, [](float value) { return value != 0; }));
  return static_cast<double>(non_zeros) / static_cast<double>(data.rows()) /
         static_cast<double>(data.features);
}

}  // namespace porter
