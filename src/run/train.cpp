// SPDX-License-Identifier: Apache-2.0
#include "porter/core/error.hpp"
#include "porter/run/experiment.hpp"

namespace porter {
namespace {

// False when the run has diverged.
bool evaluate_if_due(Experiment& experiment, const TrainHooks& hooks) {
  if (!experiment.evaluation_due()) return true;
  const MetricsRow row = experiment.evaluate();
  hooks.after_evaluation(row);
  return !row.diverged;
}

}  // namespace

TrainStatus train(Experiment& experiment, const TrainHooks& hooks) {
  if (!evaluate_if_due(experiment, hooks)) return TrainStatus::diverged;
  while (!experiment.finished()) {
    if (hooks.stop_requested()) return TrainStatus::interrupted;
    if (!experiment.may_release()) return TrainStatus::budget_spent;
    hooks.before_round(experiment.round() + 1);
    try {
      experiment.step();
    } catch (const Error& error) {
      // Of several processes the others do not know, so this one gives up.
      if (error.kind() != ErrorKind::numeric || experiment.exchange() != nullptr) throw;
      return TrainStatus::diverged;
    }
    if (!evaluate_if_due(experiment, hooks)) return TrainStatus::diverged;
    hooks.after_round(experiment);
  }
  return TrainStatus::finished;
}

}  // namespace porter
