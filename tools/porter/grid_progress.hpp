// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "grid/sweep.hpp"

namespace porter::cli {

/// Shows how the runs of a grid go, on standard error: one line that redraws itself on a terminal,
/// else a plain line at most every few seconds. May be told from any thread.
class GridProgress {
 public:
  /// With a metric the best run so far is shown, else the setting that is being trained.
  GridProgress(const Grid& grid, std::string label, std::optional<SweepMetric> metric = {});

  /// To train with, until interrupted.
  GridHooks hooks(std::size_t jobs);
  /// Removes the redrawn line.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  void after_round(const GridCounters& counters, std::size_t setting);
  void after_run(const GridRun& run);
  std::string line(const GridCounters& counters, std::size_t setting) const;

  const Grid& grid_;
  std::string label_;
  std::optional<SweepMetric> metric_;
  bool terminal_, drawn_ = false;
  std::mutex mutex_;
  Clock::time_point start_, shown_;
  std::optional<GridRun> best_;
  std::size_t bad_ = 0;  // runs that diverged or failed
};

}  // namespace porter::cli
