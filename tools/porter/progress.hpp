// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "porter/train/train.hpp"

namespace porter::cli {

/// Shows how a run goes, on standard error: one line that redraws itself on a terminal, else a
/// plain line per evaluation, at most one a second.
class Progress {
 public:
  Progress(const Trainer& trainer, std::string label);

  /// Shows every round; the progress outlives it.
  Observer observer();
  /// Ends the redrawn line.
  void close();

 private:
  void after_evaluation(const MetricsRow& row);
  using Clock = std::chrono::steady_clock;
  void show(bool last);
  std::string line() const;
  double seconds_left() const;

  const Trainer& trainer_;
  std::string label_;
  bool terminal_;
  std::string noise_;
  std::optional<MetricsRow> row_;
  Clock::time_point shown_;
  bool drawn_ = false;
};

/// A bar that is full up to the share.
std::string progress_bar(double share);
/// Cut to the width of the terminal, or redrawing would leave the ends of long lines behind.
std::string fit_terminal(std::string text);

/// 1234567 bits as "1.23 Mbit".
std::string human_bits(double bits);
/// 75 seconds as "1:15".
std::string human_time(double seconds);

}  // namespace porter::cli
