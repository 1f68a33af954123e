// SPDX-License-Identifier: Apache-2.0
#include "algo/sweep_mask.hpp"

#include <algorithm>

#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

std::size_t rounded_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

std::vector<bool> flags_of(const std::vector<std::uint32_t>& positions, std::size_t dim) {
  std::vector<bool> flags(dim);
  for (const auto j : positions) flags[j] = true;
  return flags;
}

// Fisher and Yates on the d' coordinates that are not dense: for i = d' - 1, ..., 1 swap entries i
// and below(i + 1).
std::vector<std::uint32_t> permutation(std::uint64_t seed, const std::vector<bool>& is_dense) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t j = 0; j < is_dense.size(); ++j)
    if (!is_dense[j]) order.push_back(j);
  require(!order.empty(), ErrorKind::usage, "a sweep needs coordinates that are not dense; all ",
          is_dense.size(), " are (algorithm.dense)");
  RngStream rng(seed, Draw::mask, 0, 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  return order;
}

}  // namespace

SweepMask::SweepMask(std::uint64_t seed, std::size_t dim, std::size_t kept,
                     const std::vector<std::uint32_t>& dense)
    : is_dense_(flags_of(dense, dim)) {
  const auto order = permutation(seed, is_dense_);
  blocks_ = static_cast<std::uint32_t>(rounded_up(order.size(), kept));
  const auto swept = rounded_up(order.size(), blocks_);
  size_ = swept + dense.size();
  for (std::size_t first = 0; first < order.size(); first += swept) {
    const auto block = std::span(order).subspan(first, std::min(swept, order.size() - first));
    const auto begin = static_cast<std::ptrdiff_t>(walk_.size());
    walk_.insert(walk_.end(), block.begin(), block.end());
    walk_.insert(walk_.end(), dense.begin(), dense.end());
    std::sort(walk_.begin() + begin, walk_.end());
  }
}

std::span<const std::uint32_t> SweepMask::positions(std::uint32_t step) const {
  const std::size_t first = (step - 1) % blocks_ * size_;
  return std::span(walk_).subspan(first, std::min(size_, walk_.size() - first));
}

std::uint32_t SweepMask::rounds_since_visit(std::uint32_t step, std::uint32_t s) const {
  const auto round = (step - 1) / s;
  while (step > blocks_) {
    step -= blocks_;
    if (const auto visited = (step - 1) / s; visited < round) return round - visited;
  }
  return round + 1;
}

}  // namespace porter
