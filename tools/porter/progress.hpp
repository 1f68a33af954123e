// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "grid/sweep.hpp"
#include "porter/train/train.hpp"

namespace porter::cli {

/// A line on standard error that says how something goes. On a terminal it redraws itself, else it
/// is printed again, less often.
class StatusLine {
 public:
  /// `period`: between two lines where there is no terminal.
  explicit StatusLine(std::chrono::milliseconds period = {});

  bool terminal() const { return terminal_; }
  /// Whether what is shown is old enough to be replaced.
  bool due() const;
  void show(const std::string& text);
  /// Removes the redrawn line, or leaves it and goes to the next.
  void close(bool remove);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_, drawn_ = false;
  Clock::duration period_;
  Clock::time_point shown_ = Clock::now();
};

/// Says how much of a file has been read, and is gone when that is done. Where there is no terminal
/// it says nothing, or one line in a `period`.
class ReadingLine {
 public:
  explicit ReadingLine(std::chrono::milliseconds period = {})
      : status_(period), always_(period.count() > 0) {}
  ReadingLine(const ReadingLine&) = delete;
  ReadingLine& operator=(const ReadingLine&) = delete;
  ~ReadingLine() { status_.close(true); }

  void show(const std::string& file, double share);
  /// Calls `show`; the line outlives it.
  LoadProgress hook() {
    return [this](const std::string& file, double share) { show(file, share); };
  }

 private:
  StatusLine status_;
  bool always_;
};

/// Shows how a run goes: every round on a terminal, else at most one evaluation a second.
class Progress {
 public:
  Progress(const Trainer& trainer, std::string label);

  /// Shows every round; the progress outlives it.
  Observer observer();
  void close() { status_.close(false); }

 private:
  void after_evaluation(const MetricsRow& row);
  std::string line() const;
  double seconds_left() const;

  const Trainer& trainer_;
  std::string label_, noise_;
  std::optional<MetricsRow> row_;
  StatusLine status_;
};

/// Shows how the runs of a grid go. May be told from any thread.
class GridProgress {
 public:
  /// With a metric the best run so far is shown, else the setting that is being trained.
  GridProgress(const Grid& grid, std::string label, std::optional<SweepMetric> metric = {});

  /// To train with, until interrupted.
  GridHooks hooks(std::size_t jobs);
  void close() { status_.close(true); }

 private:
  void after_reading(const std::string& file, double share);
  void after_round(const GridCounters& counters, std::size_t setting);
  void after_run(const GridRun& run);
  std::string line(const GridCounters& counters, std::size_t setting) const;

  const Grid& grid_;
  std::string label_;
  std::optional<SweepMetric> metric_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  StatusLine status_;
  std::optional<GridRun> best_;
  std::size_t bad_ = 0;  // runs that diverged or failed
};

/// 1234567 bits as "1.23 Mbit".
std::string human_bits(double bits);
/// 1234567 bytes as "1.23 MB".
std::string human_bytes(double bytes);

}  // namespace porter::cli
