// SPDX-License-Identifier: Apache-2.0
#include "sweep_trial.hpp"

#include <cmath>

#include "difference.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Watches the loss of one run against its start.
class Watch {
 public:
  explicit Watch(double factor) : factor_(factor) {}

  void start_at(double loss) { start_ = loss; }
  void see(const MetricsRow& row) {
    if (row.round == 0) start_ = row.loss;
    last_ = row;
    if (factor_ > 0 && start_ > 0 && row.loss > factor_ * start_) hopeless_ = true;
  }
  bool hopeless() const { return hopeless_; }
  const std::optional<MetricsRow>& last() const { return last_; }
  std::string reason() const {
    return concat("hopeless: the loss at round ", last_->round, " is ", last_->loss, ", above ",
                  factor_, " times the ", start_, " of the start");
  }

 private:
  double factor_, start_ = 0;
  bool hopeless_ = false;
  std::optional<MetricsRow> last_;
};

// What a run that got to its target is: the metric must be there and finite.
void judge(const SweepMetric& metric, SweepStatus good, SweepRun& run) {
  const auto value = metric.column.get(*run.row);
  run.status = !value ? SweepStatus::failed : std::isfinite(*value) ? good : SweepStatus::diverged;
  if (!value)
    run.reason = concat("there is no ", metric.column.name, " to choose by (no test set?)");
  else if (!std::isfinite(*value))
    run.reason = concat(metric.column.name, " is ", *value, " after round ", run.row->round);
}

std::optional<SweepRun> train_trial(const Sweep& sweep, const SweepTrial& trial, RunDataCache& data,
                                    const std::shared_ptr<AccountantCache>& accounts,
                                    const SweepTrialHooks& hooks) {
  Config config = *sweep.settings[trial.setting].config;
  config.run.seed = trial.seed;
  config.run.threads = trial.threads;
  Experiment experiment(config, data.get(config), accounts);
  Watch watch(sweep.hopeless);
  if (fs::exists(trial.checkpoint)) {
    watch.start_at(experiment.measure().loss);
    experiment.restore(load_npz(trial.checkpoint), trial.checkpoint.string());
  }
  bool stopped = false;
  const auto status = train(
      experiment, {.after_round = [&](const Experiment&) { hooks.after_round(); },
                   .after_evaluation = [&](const MetricsRow& row) { watch.see(row); },
                   .stop_requested =
                       [&] {
                         stopped = hooks.stop_requested();
                         return stopped || watch.hopeless() || experiment.round() >= trial.target;
                       }});

  SweepRun run{.setting = trial.setting, .seed = trial.seed, .row = watch.last()};
  if (watch.hopeless() || status == TrainStatus::diverged) {
    run.status = SweepStatus::diverged;
    const bool finite = run.row && std::isfinite(run.row->loss);
    run.reason = watch.hopeless() && finite
                     ? watch.reason()
                     : concat("the loss was no longer finite or an agent lost after round ",
                              experiment.round());
  } else if (status == TrainStatus::finished) {
    judge(sweep.metric, SweepStatus::finished, run);
  } else {
    make_folder(trial.checkpoint.parent_path());
    save_npz(trial.checkpoint, experiment.snapshot());
    if (stopped) return std::nullopt;
    run.row = experiment.measure();
    judge(sweep.metric, SweepStatus::paused, run);
  }
  if (run.row) run.row->seconds = 0;
  return run;
}

}  // namespace

std::optional<SweepRun> run_trial(const Sweep& sweep, const SweepTrial& trial, RunDataCache& data,
                                  const std::shared_ptr<AccountantCache>& accounts,
                                  const SweepTrialHooks& hooks) {
  std::optional<SweepRun> run;
  try {
    run = train_trial(sweep, trial, data, accounts, hooks);
  } catch (const std::exception& error) {  // bad_alloc too: a setting may be too large
    run = SweepRun{.setting = trial.setting, .seed = trial.seed, .reason = error.what()};
  }
  if (run && run->status != SweepStatus::paused) {
    std::error_code ignored;
    fs::remove(trial.checkpoint, ignored);
  }
  return run;
}

}  // namespace porter
