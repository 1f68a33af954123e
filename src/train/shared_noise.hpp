// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "porter/config/config.hpp"
#include "porter/privacy/pair_noise.hpp"

namespace porter {

/// What a round's noise costs an agent: its variance in one coordinate, the mean over agents, after
/// so many gossip steps. That is the variance of the average and of the differences to it. In
/// memory n x n.
PairCost noise_after_gossip(const Network& network, std::uint32_t steps);

/// The noise that the config says neighbours share. Nothing where noise is independent, or where
/// sharing does not pay (shape = "optimal"). Error{privacy} where agents have no secrets to draw it
/// from.
std::optional<SharedNoise> shared_noise(const Config& config, const Network* network);

}  // namespace porter
