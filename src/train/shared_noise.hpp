// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "porter/config/config.hpp"
#include "porter/privacy/pair_noise.hpp"

namespace porter {

/// What a round's noise costs an agent: its variance in one coordinate, the mean over agents, after
/// the round's gossip. That is the variance of the average and of the differences to it. `mixed` is
/// the share of the coordinates that the round mixes once; the others keep their noise.
PairCost noise_after_gossip(const Network& network, double mixed);

/// The noise that the config says neighbours share. Nothing where noise is independent, or where
/// sharing does not pay (shape = "optimal"). Error{privacy} where agents have no secrets to draw it
/// from.
std::optional<SharedNoise> shared_noise(const Config& config, const Network* network, double mixed);

}  // namespace porter
