// SPDX-License-Identifier: Apache-2.0
#include "reproduce_progress.hpp"

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

ReproduceProgress::ReproduceProgress(const Study& study, std::string place)
    : study_(study),
      place_(std::move(place)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      shown_(start_) {}

void ReproduceProgress::after_round(const StudyCounters& counters, std::size_t setting) {
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

void ReproduceProgress::close() {
  if (terminal_ && drawn_) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string ReproduceProgress::line(const StudyCounters& counters, std::size_t setting) const {
  const auto done = static_cast<double>(counters.rounds_done);
  const auto all = std::max(1.0, static_cast<double>(counters.rounds));
  std::string text = fmt::format("{} {}  ", place_, study_.name);
  if (terminal_) text += progress_bar(std::min(1.0, done / all)) + "  ";
  text += fmt::format("{}/{} runs", counters.runs_done.load(), counters.runs.load());
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (done > 0 && done < all)
    text += fmt::format("  {} left", human_time(seconds / done * (all - done)));
  return text + "  " + study_.setting_name(study_.settings[setting]);
}

}  // namespace porter::cli
