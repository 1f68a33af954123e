// SPDX-License-Identifier: Apache-2.0
// What decides how the gaps (W - I)^T Q are computed, and with it their bits: part of the format of
// a run, the same for every engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/core/rows.hpp"

namespace porter {

/// So few that the rows of all of them may fit the caches.
constexpr bool are_few(std::size_t agents) { return agents <= 32; }

/// Whether additions at single positions are cheaper than sums over whole rows of Real. Measured: a
/// position takes about four cycles, a coordinate of a row a quarter of one if the rows of all
/// agents fit the caches, and stored gaps are two more matrices to read and write. Long rows of
/// doubles leave the caches of agents that hold copies of their neighbours' first.
template <class Real>
constexpr bool should_store_gaps(std::size_t agents, std::size_t kept, std::size_t dim) {
  const bool wide = sizeof(Real) == sizeof(double) && dim >= kTileSize;
  return !are_few(agents) || kept * (wide ? 16 : 32) < dim;
}

/// Stored gaps in float come from Q in gossip steps whose number it divides.
inline constexpr std::uint32_t kRebuildPeriod = 64;

/// Whose messages move each agent, and by how much: the rows of (W - I)^T, ascending.
std::vector<std::vector<MixingWeight>> incoming_weights(const Network& network);

}  // namespace porter
