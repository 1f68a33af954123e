// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace porter {

/// A walk through all coordinates, up to k at a time, that everybody knows: a random permutation of
/// all d is cut into as few blocks as k allows, as equal as whole numbers let them be but for the
/// last, and when it is used up the next one is drawn. Block number `step` is a function of the
/// seed and the step alone, so nobody can fall out of it. Dense coordinates are in every block, and
/// the walk is through the others.
class SweepMask {
 public:
  /// `dense` ascends. Error{usage} where it leaves nothing to walk through.
  SweepMask(std::uint64_t seed, std::size_t dim, std::size_t kept,
            std::vector<std::uint32_t> dense = {});

  /// The coordinates of gossip step 1, 2, ..., ascending; valid until the next call.
  std::span<const std::uint32_t> positions(std::uint32_t step);
  /// Of one sweep.
  std::uint32_t steps() const { return blocks_; }

 private:
  void draw(std::uint32_t sweep);

  std::uint64_t seed_;
  std::vector<std::uint32_t> dense_, others_;
  std::uint32_t blocks_;
  std::size_t size_;  // of a block, without what is dense
  std::uint32_t drawn_;
  std::vector<std::uint32_t> walk_;  // of sweep drawn_: block after block, each ascending
};

}  // namespace porter
