// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "porter/run/sweep_run.hpp"

namespace porter::cli {

/// Shows how a sweep goes, on standard error: one line that redraws itself on a terminal, else a
/// plain line at most every few seconds. May be told from any thread.
class SweepProgress {
 public:
  explicit SweepProgress(const Sweep& sweep);

  void after_round(const SweepCounters& counters);
  void after_run(const SweepRun& run);
  /// Ends the redrawn line.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const SweepCounters& counters) const;

  const Sweep& sweep_;
  bool terminal_, drawn_ = false;
  std::mutex mutex_;
  Clock::time_point start_, shown_;
  std::optional<SweepRun> best_;
  std::size_t bad_ = 0;  // runs that diverged or failed
};

}  // namespace porter::cli
