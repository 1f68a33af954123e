// SPDX-License-Identifier: Apache-2.0
#include "porter/train/train.hpp"

#include <algorithm>

#include "porter/core/error.hpp"

namespace porter {
namespace {

// False when the run has diverged.
bool evaluate_if_due(Trainer& trainer, const std::vector<Observer>& observers) {
  if (!trainer.evaluation_due()) return true;
  const MetricsRow row = trainer.evaluate();
  for (const auto& observer : observers) observer.after_evaluation(row);
  return !row.diverged;
}

}  // namespace

TrainStatus train(Trainer& trainer, const std::vector<Observer>& observers) {
  const auto wants_stop = [](const Observer& observer) { return observer.stop_requested(); };
  if (!evaluate_if_due(trainer, observers)) return TrainStatus::diverged;
  while (!trainer.finished()) {
    if (std::ranges::any_of(observers, wants_stop)) return TrainStatus::interrupted;
    if (!trainer.may_release()) return TrainStatus::budget_spent;
    for (const auto& observer : observers) observer.before_round(trainer.round() + 1);
    try {
      trainer.step();
    } catch (const Error& error) {
      // Of several processes the others do not know, so this one gives up.
      if (error.kind() != ErrorKind::numeric || trainer.exchange() != nullptr) throw;
      return TrainStatus::diverged;
    }
    if (!evaluate_if_due(trainer, observers)) return TrainStatus::diverged;
    for (const auto& observer : observers) observer.after_round();
  }
  return TrainStatus::finished;
}

}  // namespace porter
