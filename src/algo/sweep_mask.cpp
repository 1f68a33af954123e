// SPDX-License-Identifier: Apache-2.0
#include "sweep_mask.hpp"

#include <algorithm>
#include <limits>

#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

std::size_t rounded_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

std::vector<std::uint32_t> all_but(std::span<const std::uint32_t> dense, std::size_t dim) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t j = 0; j < dim; ++j)
    if (!std::ranges::binary_search(dense, j)) others.push_back(j);
  require(!others.empty(), ErrorKind::usage, "a sweep needs coordinates that are not dense; all ",
          dim, " are (algorithm.dense)");
  return others;
}

}  // namespace

SweepMask::SweepMask(std::uint64_t seed, std::size_t dim, std::size_t kept,
                     std::vector<std::uint32_t> dense)
    : seed_(seed),
      dense_(std::move(dense)),
      others_(all_but(dense_, dim)),
      blocks_(static_cast<std::uint32_t>(rounded_up(others_.size(), kept))),
      size_(rounded_up(others_.size(), blocks_)),
      drawn_(std::numeric_limits<std::uint32_t>::max()) {}

std::span<const std::uint32_t> SweepMask::positions(std::uint32_t step) {
  const auto sweep = (step - 1) / blocks_, block = (step - 1) % blocks_;
  if (sweep != drawn_) draw(sweep);
  const std::size_t whole = size_ + dense_.size(), first = block * whole;
  return std::span(walk_).subspan(first, std::min(whole, walk_.size() - first));
}

// Fisher and Yates on the d' others: for i = d' - 1, ..., 1 swap entries i and below(i + 1).
void SweepMask::draw(std::uint32_t sweep) {
  RngStream rng(seed_, Draw::mask, 0, sweep);
  auto order = others_;
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  walk_.clear();
  for (std::size_t first = 0; first < order.size(); first += size_) {
    const auto block = std::span(order).subspan(first, std::min(size_, order.size() - first));
    const auto begin = static_cast<std::ptrdiff_t>(walk_.size());
    walk_.insert(walk_.end(), block.begin(), block.end());
    walk_.insert(walk_.end(), dense_.begin(), dense_.end());
    std::sort(walk_.begin() + begin, walk_.end());
  }
  drawn_ = sweep;
}

}  // namespace porter
