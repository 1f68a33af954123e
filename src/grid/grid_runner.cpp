// SPDX-License-Identifier: Apache-2.0
#include "grid_runner.hpp"

#include <algorithm>
#include <cmath>

#include "config/difference.hpp"
#include "core/text.hpp"
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

std::string GridTrial::name() const {
  return concat("seed ", seed, fold > 0 ? concat(", fold ", fold) : "");
}

std::vector<GridTrial> Grid::trials() const {
  std::vector<GridTrial> trials;
  for (const auto seed : seeds)
    for (std::uint32_t fold = std::min(folds, 1U); fold <= folds; ++fold)
      trials.push_back({seed, fold});
  return trials;
}

Config Grid::config_of(std::size_t setting, const GridTrial& trial) const {
  auto config = *settings[setting].config;
  config.run.seed = trial.seed;
  if (folds > 0) config.data.fold = {trial.fold, folds};
  return config;
}

GridRunner::GridRunner(const Grid& grid, fs::path folder, const char* who, RunRule rule,
                       const GridHooks& hooks)
    : grid_(grid),
      folder_(std::move(folder)),
      rule_(std::move(rule)),
      hooks_(hooks),
      journal_(folder_, who),
      pool_(hooks.jobs) {
  counters_.runs = grid.settings.size() * grid.trials().size();
}

std::string GridRunner::key_of(const GridTask& task) const {
  return run_key(grid_.config_of(task.setting, task.trial));
}

fs::path GridRunner::checkpoint(std::size_t setting, const GridTrial& trial) const {
  const auto fold = trial.fold > 0 ? concat('-', trial.fold) : "";
  return folder_ / "checkpoints" / concat(setting, '-', trial.seed, fold, ".npz");
}

void GridRunner::forget_checkpoints(std::size_t setting) const {
  std::error_code ignored;
  for (const auto& trial : grid_.trials()) fs::remove(checkpoint(setting, trial), ignored);
}

void GridRunner::done(const GridRun& run) {
  if (run.status != RunEnd::paused) ++counters_.runs_done;
  hooks_.after_run(run);
}

std::optional<std::vector<GridRun>> GridRunner::run(const std::vector<GridTask>& tasks,
                                                    std::int64_t later) {
  std::vector<GridRun> runs(tasks.size());
  std::vector<std::size_t> unknown;
  const auto rounds = [&](std::size_t i) { return tasks[i].target - tasks[i].from; };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (const auto* known = journal_.find(key_of(tasks[i]), tasks[i].target)) {
      runs[i] = *known;
      runs[i].setting = tasks[i].setting;
      done(runs[i]);
    } else {
      unknown.push_back(i);
      later += rounds(i);
    }
  }
  counters_.rounds_left = later;
  // The long runs first, so that no thread is left with one at the end; among equals, seed by seed.
  std::stable_sort(unknown.begin(), unknown.end(), [&](std::size_t a, std::size_t b) {
    return rounds(a) != rounds(b) ? rounds(a) > rounds(b)
                                  : tasks[a].trial.seed < tasks[b].trial.seed;
  });
  const auto threads =
      std::max<std::size_t>(1, pool_.threads() / std::max<std::size_t>(1, unknown.size()));
  pool_.parallel_for(unknown.size(), [&](std::size_t i) {
    if (stop_requested()) return;
    const auto& task = tasks[unknown[i]];
    auto run = train_task(task, threads);
    if (!run) return;
    record(task, *run);
    runs[unknown[i]] = std::move(*run);
  });
  if (stop_requested()) return std::nullopt;
  trained_ += unknown.size();
  return runs;
}

void GridRunner::record(const GridTask& task, const GridRun& run) {
  const std::lock_guard lock(mutex_);
  try {
    journal_.append(key_of(task), run);
  } catch (...) {
    broken_ = true;  // the others need not go on
    throw;
  }
  done(run);
}

bool GridRunner::train_to(const GridTask& task, std::size_t threads, GridRun& run) {
  auto config = grid_.config_of(task.setting, task.trial);
  config.run.threads = threads;
  auto parts = assemble(config, {.data = data_.get(config, hooks_.reading), .accounts = accounts_});
  hooks_.prepare(parts);
  Trainer trainer(std::move(parts));
  const auto file = checkpoint(task.setting, task.trial);
  double start = 0;
  if (rule_.pauses && fs::exists(file)) {
    start = trainer.measure().loss;
    trainer.restore(load_checkpoint(file), file.string());
  }
  // The same bits whenever a run is repeated: what is modelled has them, what is measured has not.
  const auto repeatable = [&](MetricsRow row) {
    if (!has_clock(config)) row.seconds.reset();
    return row;
  };
  bool stopped = false, hopeless = false;
  const auto status =
      train(trainer, {{.after_evaluation =
                           [&](const MetricsRow& row) {
                             if (row.round == 0) start = row.loss;
                             if (rule_.hopeless > 0 && start > 0)
                               hopeless = hopeless || row.loss > rule_.hopeless * start;
                             if (rule_.pauses) run.rows.clear();
                             run.rows.push_back(repeatable(row));
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
    run.rows = {repeatable(trainer.measure())};
  }
  if (!rule_.pauses) run.facts = facts_of(trainer);
  if (run.status != RunEnd::diverged) rule_.judge(run);
  return true;
}

std::optional<GridRun> GridRunner::train_task(const GridTask& task, std::size_t threads) {
  GridRun run{.setting = task.setting, .seed = task.trial.seed, .fold = task.trial.fold};
  try {
    if (!train_to(task, threads, run)) return std::nullopt;
  } catch (const std::exception& error) {  // bad_alloc too: a setting may be too large
    run.status = RunEnd::failed;
    run.reason = without_controls(error.what());
    if (rule_.pauses) run.rows.clear();
  }
  std::error_code ignored;
  if (rule_.pauses && run.status != RunEnd::paused)
    fs::remove(checkpoint(task.setting, task.trial), ignored);
  return run;
}

std::optional<GridResult> run_grid(const Grid& grid, const fs::path& folder, const GridHooks& hooks,
                                   bool forget) {
  GridRunner runner(grid, folder, "porter reproduce", {}, hooks);
  if (forget || runner.journal().foreign()) runner.journal().clear();
  GridResult result{.runs = {}, .seeds = grid.seeds.size()};
  std::vector<GridTask> tasks;
  for (std::size_t s = 0; s < grid.settings.size(); ++s)
    for (const auto seed : grid.seeds) {
      const auto& setting = grid.settings[s];
      result.runs.push_back({.setting = s, .seed = seed, .reason = setting.refused});
      if (setting.config)
        tasks.push_back(
            {.setting = s, .trial = {seed}, .target = setting.config->algorithm.rounds});
    }
  result.refused = result.runs.size() - tasks.size();
  runner.counters().runs_done = result.refused;
  const auto recorded = runner.journal().size();
  auto runs = runner.run(tasks);
  if (!runs) return std::nullopt;
  result.trained = runner.trained();
  result.foreign = recorded - std::min(recorded, tasks.size() - result.trained);
  auto next = runs->begin();
  for (auto& run : result.runs)
    if (grid.settings[run.setting].config) run = std::move(*next++);
  return result;
}

}  // namespace porter
