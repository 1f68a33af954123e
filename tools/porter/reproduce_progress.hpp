// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "porter/reproduce/study_run.hpp"

namespace porter::cli {

/// Shows how a study goes, on standard error: one line that redraws itself on a terminal, else a
/// plain line at most every few seconds. May be told from any thread.
class ReproduceProgress {
 public:
  /// `place` says which of the experiments it is: "2/7".
  ReproduceProgress(const Study& study, std::string place);

  void after_round(const StudyCounters& counters, std::size_t setting);
  /// Ends the redrawn line.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const StudyCounters& counters, std::size_t setting) const;

  const Study& study_;
  std::string place_;
  bool terminal_, drawn_ = false;
  std::mutex mutex_;
  Clock::time_point start_, shown_;
};

}  // namespace porter::cli
