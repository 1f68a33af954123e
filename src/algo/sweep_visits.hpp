// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sweep_mask.hpp"
#include "team.hpp"

namespace porter {

/// For every coordinate of a sweep the rounds since it was visited in an earlier one: as many
/// gradients have moved it apart. Several visits in one round have the same number. A function of
/// the mask and the round alone, so a resumed run needs nothing saved.
class SweepVisits {
 public:
  explicit SweepVisits(std::size_t dim) : visited_(dim, 0), rounds_(dim, 0) {}

  /// Before the gossip steps of round 1, 2, ...; a round that does not follow the last one walks
  /// through the mask of the steps before it.
  void begin(std::uint32_t round, const GossipClock& clock, SweepMask& mask);
  /// At a gossip step of that round.
  void visit(std::span<const std::uint32_t> positions);

  /// Of a coordinate that is visited in this round; at the first visit, the rounds since the start.
  std::uint32_t rounds(std::uint32_t position) const { return rounds_[position]; }

 private:
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> visited_;  // in which round last; 0: never
  std::vector<std::uint32_t> rounds_;   // as of that visit
};

}  // namespace porter
