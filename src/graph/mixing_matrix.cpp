// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "porter/graph/mixing.hpp"

namespace porter {

MixingMatrix::MixingMatrix(const std::vector<std::vector<MixingWeight>>& rows) {
  starts_.reserve(rows.size() + 1);
  for (const auto& row : rows) starts_.push_back(starts_.back() + row.size());
  entries_.reserve(starts_.back());
  for (const auto& row : rows) entries_.insert(entries_.end(), row.begin(), row.end());
}

MixingMatrix::MixingMatrix(std::size_t nodes, std::span<const double> dense) {
  assert(dense.size() == nodes * nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t j = 0; j < nodes; ++j)
      if (const double weight = dense[i * nodes + j]; weight != 0 || i == j)
        entries_.push_back({static_cast<std::uint32_t>(j), weight});
    starts_.push_back(entries_.size());
  }
}

double MixingMatrix::operator()(std::size_t i, std::size_t j) const {
  const auto entries = row(i);
  const auto at = std::lower_bound(entries.begin(), entries.end(), j,
                                   [](const MixingWeight& e, std::size_t n) { return e.node < n; });
  return at != entries.end() && at->node == j ? at->weight : 0;
}

MixingMatrix MixingMatrix::transposed() const {
  MixingMatrix result;
  result.starts_.assign(nodes() + 1, 0);
  for (const auto& entry : entries_) ++result.starts_[entry.node + 1];
  for (std::size_t i = 0; i < nodes(); ++i) result.starts_[i + 1] += result.starts_[i];
  result.entries_.resize(entries_.size());
  auto next = result.starts_;  // where the next entry of each row goes; rows come in order
  for (std::size_t i = 0; i < nodes(); ++i)
    for (const auto& [j, weight] : row(i))
      result.entries_[next[j]++] = {static_cast<std::uint32_t>(i), weight};
  return result;
}

std::vector<double> MixingMatrix::dense() const {
  std::vector<double> values(nodes() * nodes(), 0.0);
  for (std::size_t i = 0; i < nodes(); ++i)
    for (const auto& [j, weight] : row(i)) values[i * nodes() + j] = weight;
  return values;
}

}  // namespace porter
