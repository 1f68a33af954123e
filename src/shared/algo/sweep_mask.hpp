// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace porter {

/// A walk through all coordinates, up to k at a time, that everybody knows: a random permutation of
/// all d is cut into as few blocks as k allows, as equal as whole numbers let them be but for the
/// last, and these are visited in turn again and again, so that all coordinates wait equally long.
/// Dense coordinates are in every block, and the walk is through the others.
class SweepMask {
 public:
  /// `dense` ascends. Error{usage} where it leaves nothing to walk through.
  SweepMask(std::uint64_t seed, std::size_t dim, std::size_t kept,
            const std::vector<std::uint32_t>& dense = {});

  /// The coordinates of gossip step 1, 2, ..., ascending.
  std::span<const std::uint32_t> positions(std::uint32_t step) const;
  /// Of one sweep.
  std::uint32_t steps() const { return blocks_; }
  bool is_dense(std::uint32_t position) const { return is_dense_[position]; }
  /// How many rounds of s gossip steps have gone by since an earlier round visited the block of
  /// this step, or since the start.
  std::uint32_t rounds_since_visit(std::uint32_t step, std::uint32_t s) const;

 private:
  std::vector<bool> is_dense_;
  std::uint32_t blocks_;
  std::size_t size_;                 // of a block, with what is dense
  std::vector<std::uint32_t> walk_;  // block after block, each ascending
};

}  // namespace porter
