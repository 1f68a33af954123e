// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "porter/train/trainer.hpp"

namespace porter {

/// Watches a training, and may end it. Folders, ledgers, progress displays, ranks and networked
/// agents are observers.
struct Observer {
  /// Before anything of a round is released; its number.
  std::function<void(std::uint32_t)> before_round = [](std::uint32_t) {};
  std::function<void(const MetricsRow&)> after_evaluation = [](const MetricsRow&) {};
  std::function<void()> after_round = [] {};
  std::function<bool()> stop_requested = [] { return false; };
};

enum class TrainStatus { finished, interrupted, diverged, budget_spent };

/// Runs to the end, until an observer asks for a stop, the privacy budget allows no further round,
/// or the run diverges: a loss is no longer finite, or an agent leaves the public bounds. Metrics
/// computed before the first round include round 0. Observers are called in their order.
TrainStatus train(Trainer& trainer, const std::vector<Observer>& observers = {});

}  // namespace porter
