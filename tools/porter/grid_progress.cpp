// SPDX-License-Identifier: Apache-2.0
#include "grid_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "progress.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

constexpr auto kRedrawTime = std::chrono::milliseconds(100);
constexpr auto kLineTime = std::chrono::seconds(5);

}  // namespace

GridProgress::GridProgress(const Grid& grid, std::string label, std::optional<SweepMetric> metric)
    : grid_(grid),
      label_(std::move(label)),
      metric_(std::move(metric)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      shown_(start_) {}

GridHooks GridProgress::hooks(std::size_t jobs) {
  return {.jobs = jobs,
          .stop_requested = interrupted,
          .after_round = [this](const GridCounters& counters,
                                std::size_t setting) { after_round(counters, setting); },
          .after_run = [this](const GridRun& run) { after_run(run); }};
}

void GridProgress::after_round(const GridCounters& counters, std::size_t setting) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is at it
  if (Clock::now() - shown_ < (terminal_ ? Clock::duration(kRedrawTime) : kLineTime)) return;
  shown_ = Clock::now();
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", fit_terminal(line(counters, setting)));
  else
    fmt::print(stderr, "{}\n", line(counters, setting));
  std::fflush(stderr);
  drawn_ = true;
}

void GridProgress::after_run(const GridRun& run) {
  const std::lock_guard lock(mutex_);
  bad_ += run.status == RunEnd::diverged || run.status == RunEnd::failed;
  if (!metric_ || !run.finished()) return;
  const auto& column = metric_->column;
  if (!best_ || metric_->better(*run.last(column), *best_->last(column))) best_ = run;
}

void GridProgress::close() {
  if (terminal_ && drawn_) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string GridProgress::line(const GridCounters& counters, std::size_t setting) const {
  const auto done = static_cast<double>(counters.rounds_done);
  const auto left = static_cast<double>(std::max<std::int64_t>(0, counters.rounds_left));
  std::string text = label_ + "  ";
  if (terminal_) text += progress_bar(done / std::max(1.0, done + left)) + "  ";
  text += fmt::format("{}/{} runs", counters.runs_done.load(), counters.runs.load());
  if (bad_ > 0) text += fmt::format(", {} failed or diverged", bad_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (done > 0 && left > 0) text += fmt::format("  {} left", human_time(seconds / done * left));
  if (best_)
    return text + fmt::format("  best run: {} {:.4g} ({})", metric_->column.name,
                              *best_->last(metric_->column), grid_.settings[best_->setting].name);
  return text + "  " + grid_.settings[setting].name;
}

}  // namespace porter::cli
