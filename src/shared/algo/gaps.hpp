// SPDX-License-Identifier: Apache-2.0
// What decides how the gaps (W - I)^T Q are computed, and with it their bits: part of the format of
// a run, the same for every engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "porter/algo/algorithm.hpp"

namespace porter {

/// Whether additions at single positions are cheaper than sums over whole rows. Measured: a
/// position takes about four cycles, a coordinate of a row a quarter of one if the rows of all
/// agents fit the caches, and stored gaps are two more matrices to read and write.
constexpr bool should_store_gaps(std::size_t agents, std::size_t kept, std::size_t dim) {
  constexpr std::size_t kFewAgents = 32, kSparse = 32;
  return agents > kFewAgents || kept * kSparse < dim;
}

/// Stored gaps in float come from Q in gossip steps whose number it divides.
inline constexpr std::uint32_t kRebuildPeriod = 64;

/// Whose messages move each agent, and by how much: the rows of (W - I)^T, ascending.
std::vector<std::vector<MixingWeight>> incoming_weights(const Network& network);

}  // namespace porter
