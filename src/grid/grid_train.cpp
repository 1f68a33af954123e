// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "config/difference.hpp"
#include "core/text.hpp"
#include "grid_runner.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

GridFacts facts_of(const Trainer& trainer) {
  const auto& parts = trainer.parts();
  const auto& facts = parts.facts;
  GridFacts out{.data = facts.data_source,
                .agents = facts.agents,
                .samples = facts.samples_per_agent,
                .dim = facts.dim,
                .rho = facts.compression.rho,
                .majority_rate = facts.majority_rate,
                .alpha = parts.alpha().value_or(0),
                .sigma = parts.sigma(),
                .privacy = parts.privacy->sentence(trainer.releases())};
  if (facts.compression.kept) out.kept = static_cast<double>(*facts.compression.kept);
  return out;
}

}  // namespace

bool GridRunner::train_to(const GridTask& task, std::size_t threads, GridRun& run) {
  auto config = *grid_.settings[task.setting].config;
  config.run.seed = task.seed;
  config.run.threads = threads;
  Trainer trainer(assemble(config, {.data = data_.get(config), .accounts = accounts_}));
  const auto file = checkpoint(task.setting, task.seed);
  double start = 0;
  if (rule_.pauses && fs::exists(file)) {
    start = trainer.measure().loss;
    trainer.restore(load_checkpoint(file), file.string());
  }
  bool stopped = false, hopeless = false;
  const auto status =
      train(trainer, {{.after_evaluation =
                           [&](const MetricsRow& row) {
                             if (row.round == 0) start = row.loss;
                             if (rule_.hopeless > 0 && start > 0)
                               hopeless = hopeless || row.loss > rule_.hopeless * start;
                             if (rule_.pauses) run.rows.clear();
                             run.rows.push_back(row);
                           },
                       .after_round =
                           [&] {
                             ++counters_.rounds_done;
                             --counters_.rounds_left;
                             hooks_.after_round(counters_, task.setting);
                           },
                       .stop_requested =
                           [&] {
                             stopped = stop_requested();
                             return stopped || hopeless || trainer.round() >= task.target;
                           }}});
  run.status = RunEnd::finished;
  if (hopeless || status == TrainStatus::diverged) {
    run.status = RunEnd::diverged;
    run.reason =
        concat("the loss was no longer finite or an agent lost after round ", trainer.round());
    if (hopeless && std::isfinite(run.rows.back().loss))
      run.reason = concat("hopeless: the loss at round ", run.rows.back().round, " is ",
                          run.rows.back().loss, ", above ", rule_.hopeless, " times the ", start,
                          " of the start");
  } else if (status == TrainStatus::interrupted) {
    if (!rule_.pauses) return false;
    make_folder(file.parent_path());
    save_checkpoint(file, trainer.checkpoint());
    if (stopped) return false;
    run.status = RunEnd::paused;
    run.rows = {trainer.measure()};
  }
  if (!rule_.pauses) run.facts = facts_of(trainer);
  if (run.status != RunEnd::diverged) rule_.judge(run);
  return true;
}

std::optional<GridRun> GridRunner::train_task(const GridTask& task, std::size_t threads) {
  GridRun run{.setting = task.setting, .seed = task.seed};
  try {
    if (!train_to(task, threads, run)) return std::nullopt;
  } catch (const std::exception& error) {  // bad_alloc too: a setting may be too large
    run.status = RunEnd::failed;
    run.reason = without_controls(error.what());
    if (rule_.pauses) run.rows.clear();
  }
  for (auto& row : run.rows) row.seconds = 0;  // the same bits whenever a run is repeated
  std::error_code ignored;
  if (rule_.pauses && run.status != RunEnd::paused)
    fs::remove(checkpoint(task.setting, task.seed), ignored);
  return run;
}

}  // namespace porter
