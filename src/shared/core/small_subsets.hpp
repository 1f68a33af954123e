// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "porter/core/rng.hpp"

namespace porter {

/// The largest k of choose_each: its work grows with k^2.
inline constexpr std::size_t kSmallSubset = 12;

/// choose(k, n, RngStream(seed, use, agent, round)) for all of the agents, side by side in vectors:
/// the subset of agents[i] begins at out[i k]. k is at most kSmallSubset.
void choose_each(std::size_t k, std::size_t n, std::uint64_t seed, Draw use,
                 std::span<const std::uint32_t> agents, std::uint32_t round,
                 std::span<std::uint32_t> out);

}  // namespace porter
