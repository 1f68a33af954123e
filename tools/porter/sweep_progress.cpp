// SPDX-License-Identifier: Apache-2.0
#include "sweep_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "progress.hpp"

namespace porter::cli {
namespace {

constexpr auto kRedrawTime = std::chrono::milliseconds(100);
constexpr auto kLineTime = std::chrono::seconds(5);

}  // namespace

SweepProgress::SweepProgress(const Sweep& sweep)
    : sweep_(sweep), terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), shown_(start_) {}

void SweepProgress::after_round(const SweepCounters& counters) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is at it
  if (Clock::now() - shown_ < (terminal_ ? Clock::duration(kRedrawTime) : kLineTime)) return;
  shown_ = Clock::now();
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", fit_terminal(line(counters)));
  else
    fmt::print(stderr, "{}\n", line(counters));
  std::fflush(stderr);
  drawn_ = true;
}

void SweepProgress::after_run(const SweepRun& run) {
  const std::lock_guard lock(mutex_);
  bad_ += run.status == SweepStatus::diverged || run.status == SweepStatus::failed;
  if (run.status != SweepStatus::finished) return;
  const auto& metric = sweep_.metric;
  const auto value = [&](const SweepRun& of) { return *metric.column.get(*of.row); };
  if (!best_ || metric.better(value(run), value(*best_))) best_ = run;
}

void SweepProgress::close() {
  if (terminal_ && drawn_) fmt::print(stderr, "\n");
  drawn_ = false;
}

std::string SweepProgress::line(const SweepCounters& counters) const {
  const auto done = static_cast<double>(counters.rounds_done);
  const auto left = static_cast<double>(std::max<std::int64_t>(0, counters.rounds_left));
  std::string text = "sweep  ";
  if (terminal_) text += progress_bar(done / std::max(1.0, done + left)) + "  ";
  text += fmt::format("{}/{} runs", counters.runs_done.load(), counters.runs.load());
  if (bad_ > 0) text += fmt::format(", {} failed or diverged", bad_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (done > 0 && left > 0) text += fmt::format("  {} left", human_time(seconds / done * left));
  if (best_)
    text += fmt::format("  best run: {} {:.4g} ({})", sweep_.metric.column.name,
                        *sweep_.metric.column.get(*best_->row),
                        sweep_.settings[best_->setting].name(sweep_.keys));
  return text;
}

}  // namespace porter::cli
