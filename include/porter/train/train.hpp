// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "porter/core/choice.hpp"
#include "porter/train/trainer.hpp"

namespace porter {

class MpiSession;

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
template <>
struct Choices<TrainStatus> {
  static constexpr Choice<TrainStatus> table[] = {{"finished", TrainStatus::finished},
                                                  {"interrupted", TrainStatus::interrupted},
                                                  {"diverged", TrainStatus::diverged},
                                                  {"budget spent", TrainStatus::budget_spent}};
};

/// Runs to the end, until an observer asks for a stop, the privacy budget allows no further round,
/// or the run diverges: a loss is no longer finite, or an agent leaves the public bounds. Metrics
/// computed before the first round include round 0. Observers are called in their order.
TrainStatus train(Trainer& trainer, const std::vector<Observer>& observers = {});

/// Trains in a folder, which gets config.toml, metrics.csv, summary.json, privacy.json, graph.svg,
/// model.npz, checkpoint/ and, where the noise is secret, ledger/: begins a run there, or goes on
/// where one of the same config was.
TrainStatus train_in(const std::filesystem::path& folder, Trainer& trainer,
                     std::vector<Observer> observers = {});

/// What to do when the folder exists.
enum class ExistingRun { refuse, resume, replace };

/// The same for a trainer whose processes are the ranks of a job; called by all of them. Rank 0 has
/// the folder, with checkpoints of the whole run as a simulation writes them (so a run may be
/// resumed with another number of ranks). Each rank keeps the ledgers of its agents in a folder of
/// the same name. The observers are called on every rank; a stop that any rank is asked for stops
/// all within a second or a round.
TrainStatus train_on_ranks(Trainer& trainer, MpiSession& session,
                           const std::filesystem::path& folder, ExistingRun existing,
                           std::vector<Observer> observers);

}  // namespace porter
