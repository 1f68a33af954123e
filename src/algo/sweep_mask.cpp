// SPDX-License-Identifier: Apache-2.0
#include "sweep_mask.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

std::size_t rounded_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

}  // namespace

SweepMask::SweepMask(std::uint64_t seed, std::size_t dim, std::size_t kept)
    : seed_(seed),
      blocks_(static_cast<std::uint32_t>(rounded_up(dim, kept))),
      size_(rounded_up(dim, blocks_)),
      drawn_(std::numeric_limits<std::uint32_t>::max()),
      permutation_(dim) {}

std::span<const std::uint32_t> SweepMask::positions(std::uint32_t step) {
  const auto sweep = (step - 1) / blocks_, block = (step - 1) % blocks_;
  if (sweep != drawn_) draw(sweep);
  const std::size_t first = block * size_;
  return std::span(permutation_).subspan(first, std::min(size_, permutation_.size() - first));
}

// Fisher and Yates: for i = d - 1, ..., 1 swap entries i and below(i + 1).
void SweepMask::draw(std::uint32_t sweep) {
  RngStream rng(seed_, Draw::mask, 0, sweep);
  std::iota(permutation_.begin(), permutation_.end(), 0U);
  for (std::size_t i = permutation_.size() - 1; i > 0; --i)
    std::swap(permutation_[i], permutation_[rng.below(i + 1)]);
  for (std::size_t first = 0; first < permutation_.size(); first += size_)
    std::sort(permutation_.begin() + static_cast<std::ptrdiff_t>(first),
              permutation_.begin() +
                  static_cast<std::ptrdiff_t>(std::min(first + size_, permutation_.size())));
  drawn_ = sweep;
}

}  // namespace porter
