// SPDX-License-Identifier: Apache-2.0
#include "grid_runner.hpp"

#include <algorithm>

#include "porter/core/error.hpp"

namespace porter {

namespace fs = std::filesystem;

GridRunner::GridRunner(const Grid& grid, fs::path folder, const char* who, RunRule rule,
                       const GridHooks& hooks)
    : grid_(grid),
      folder_(std::move(folder)),
      rule_(std::move(rule)),
      hooks_(hooks),
      journal_(folder_, who),
      pool_(hooks.jobs) {
  counters_.runs = grid.settings.size() * grid.seeds.size();
}

std::string GridRunner::key_of(const GridTask& task) const {
  return run_key(*grid_.settings[task.setting].config, task.seed);
}

fs::path GridRunner::checkpoint(std::size_t setting, std::uint64_t seed) const {
  return folder_ / "checkpoints" / concat(setting, '-', seed, ".npz");
}

void GridRunner::forget_checkpoints(std::size_t setting) const {
  std::error_code ignored;
  for (const auto seed : grid_.seeds) fs::remove(checkpoint(setting, seed), ignored);
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
    return rounds(a) != rounds(b) ? rounds(a) > rounds(b) : tasks[a].seed < tasks[b].seed;
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
        tasks.push_back({.setting = s, .seed = seed, .target = setting.config->algorithm.rounds});
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
