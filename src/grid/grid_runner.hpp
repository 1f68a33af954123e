// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "grid_journal.hpp"
#include "porter/core/thread_pool.hpp"
#include "train/accountant_cache.hpp"
#include "train/run_data.hpp"

namespace porter {

/// One run that is wanted, up to some round.
struct GridTask {
  std::size_t setting = 0;
  GridTrial trial = {};
  std::uint32_t target = 0;  ///< the round to pause at, or the last
  std::uint32_t from = 0;    ///< where it has paused
};

/// How single runs are carried out and judged.
struct RunRule {
  /// Runs may wait at a round, with a checkpoint; of their evaluations only the last counts. Else a
  /// run that is stopped starts again.
  bool pauses = false;
  double hopeless = 0;  ///< a loss above this many times that of the start diverges; 0: never
  /// May refuse a run that got to its round.
  std::function<void(GridRun&)> judge = [](GridRun&) {};
};

/// Trains the runs of a grid, several at a time, and remembers them in the journal of its folder.
class GridRunner {
 public:
  GridRunner(const Grid& grid, std::filesystem::path folder, const char* who, RunRule rule,
             const GridHooks& hooks);

  GridJournal& journal() { return journal_; }
  GridCounters& counters() { return counters_; }
  /// Runs that were not in the journal.
  std::size_t trained() const { return trained_; }

  /// The runs, from the journal or trained now, in the order of the tasks; nothing when a stop was
  /// requested. `later` are rounds of tasks that will come.
  std::optional<std::vector<GridRun>> run(const std::vector<GridTask>& tasks,
                                          std::int64_t later = 0);
  void forget_checkpoints(std::size_t setting) const;

 private:
  bool stop_requested() const { return broken_ || hooks_.stop_requested(); }
  std::string key_of(const GridTask& task) const;
  std::filesystem::path checkpoint(std::size_t setting, const GridTrial& trial) const;
  void done(const GridRun& run);
  void record(const GridTask& task, const GridRun& run);
  // Nothing, or false, when a stop was requested.
  std::optional<GridRun> train_task(const GridTask& task, std::size_t threads);
  bool train_to(const GridTask& task, std::size_t threads, GridRun& run);

  const Grid& grid_;
  std::filesystem::path folder_;
  RunRule rule_;
  const GridHooks& hooks_;
  GridJournal journal_;
  ThreadPool pool_;
  RunDataCache data_;
  std::shared_ptr<AccountantCache> accounts_ = std::make_shared<AccountantCache>();
  std::mutex mutex_;  // guards the journal while runs are trained
  GridCounters counters_;
  std::size_t trained_ = 0;
  std::atomic<bool> broken_{false};
};

}  // namespace porter
