// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/text.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A bar that is full up to the share.
std::string progress_bar(double share) {
  constexpr int kWidth = 20;
  const int full = static_cast<int>(share * kWidth);
  std::string text;
  for (int i = 0; i < kWidth; ++i) text += i < full ? "█" : "░";
  return text;
}

// Cut to the width of the terminal, or redrawing would leave the ends of long lines behind.
std::string fit_terminal(const std::string& text) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return text;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts_character && ++columns >= size.ws_col) return text.substr(0, i);
  }
  return text;
}

// 75 seconds as "1:15".
std::string human_time(double seconds) {
  const auto whole = std::lround(std::max(0.0, seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string reading_text(const std::string& file, double share) {
  return fmt::format("reading {}: {:.0f} %", file, 100 * share);
}

std::string human(double value, const char* unit) {
  std::string_view prefixes = " kMGTP";
  while (value >= 1000 && prefixes.size() > 1) {
    value /= 1000;
    prefixes.remove_prefix(1);
  }
  return fmt::format("{:.3g} {}{}", value, prefixes.substr(0, prefixes[0] != ' '), unit);
}

}  // namespace

std::string human_bits(double bits) { return human(bits, "bit"); }
std::string human_bytes(double bytes) { return human(bytes, "B"); }

StatusLine::StatusLine(milliseconds period)
    : terminal_(isatty(STDERR_FILENO) != 0), period_(terminal_ ? milliseconds(100) : period) {}

bool StatusLine::due() const { return Clock::now() - shown_ >= period_; }

void StatusLine::show(const std::string& text) {
  shown_ = Clock::now();
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", fit_terminal(text));
  else
    fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
  drawn_ = true;
}

void StatusLine::close(bool remove) {
  if (terminal_ && drawn_) fmt::print(stderr, "{}", remove ? "\r\x1b[K" : "\n");
  std::fflush(stderr);
  drawn_ = false;
}

void ReadingLine::show(const std::string& file, double share) {
  if ((always_ || status_.terminal()) && status_.due()) status_.show(reading_text(file, share));
}

Progress::Progress(const Trainer& trainer, std::string label)
    : trainer_(trainer), label_(std::move(label)), status_(milliseconds(1000)) {
  const double sigma = trainer.parts().sigma();
  if (sigma > 0) noise_ = fmt::format("  sigma {:.3g}", sigma);
}

Observer Progress::observer() {
  const auto after_round = [this] {
    if (status_.terminal() && status_.due()) status_.show(line());
  };
  return {.after_evaluation = [this](const MetricsRow& row) { after_evaluation(row); },
          .after_round = after_round};
}

void Progress::after_evaluation(const MetricsRow& row) {
  row_ = row;
  const bool last = trainer_.finished();
  if (status_.terminal() || last || row.round == 0 || status_.due()) status_.show(line());
  if (last) close();
}

std::string Progress::line() const {
  const auto round = trainer_.round(), rounds = trainer_.config().algorithm.rounds;
  std::string text = label_ + "  ";
  if (status_.terminal()) text += progress_bar(double(round) / rounds) + "  ";
  text += fmt::format("round {}/{}", round, rounds);
  if (row_ && row_->raw) text += fmt::format("  loss {:.4g}", row_->loss);
  if (row_ && row_->test_accuracy)
    text += fmt::format("  accuracy {:.2f} %", 100 * *row_->test_accuracy);
  if (row_ && row_->test_rmse) text += fmt::format("  RMSE {:.4g}", *row_->test_rmse);
  if (row_ && row_->epsilon) text += "  epsilon " + rounded_up(*row_->epsilon, 3);
  text += noise_;
  if (row_) text += fmt::format("  {}/agent", human_bits(row_->bits_per_agent));
  if (round > 0 && round < rounds) text += fmt::format("  {} left", human_time(seconds_left()));
  return text;
}

// Rounds and evaluations take their time at different moments, so they are extrapolated apart.
double Progress::seconds_left() const {
  const auto evaluations = static_cast<double>(trainer_.facts().evaluation_rounds.size());
  const auto done = static_cast<double>(trainer_.evaluations_done());
  const double rounds_left = trainer_.config().algorithm.rounds - trainer_.round();
  return trainer_.now().training_seconds / trainer_.round() * rounds_left +
         trainer_.now().evaluation_seconds / done * (evaluations - done);
}

GridProgress::GridProgress(const Grid& grid, std::string label, std::optional<SweepMetric> metric)
    : grid_(grid),
      label_(std::move(label)),
      metric_(std::move(metric)),
      status_(milliseconds(5000)) {}

GridHooks GridProgress::hooks(std::size_t jobs) {
  return {.jobs = jobs,
          .stop_requested = interrupted,
          .after_round = [this](const GridCounters& counters,
                                std::size_t setting) { after_round(counters, setting); },
          .reading = [this](const std::string& file, double share) { after_reading(file, share); },
          .after_run = [this](const GridRun& run) { after_run(run); }};
}

void GridProgress::after_reading(const std::string& file, double share) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && status_.terminal() && status_.due()) status_.show(reading_text(file, share));
}

void GridProgress::after_round(const GridCounters& counters, std::size_t setting) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && status_.due()) status_.show(line(counters, setting));  // else another thread is at it
}

void GridProgress::after_run(const GridRun& run) {
  const std::lock_guard lock(mutex_);
  bad_ += run.status == RunEnd::diverged || run.status == RunEnd::failed;
  if (!metric_ || !run.finished()) return;
  const auto& column = metric_->column;
  if (!best_ || metric_->better(*run.last(column), *best_->last(column))) best_ = run;
}

std::string GridProgress::line(const GridCounters& counters, std::size_t setting) const {
  const auto done = static_cast<double>(counters.rounds_done);
  const auto left = static_cast<double>(std::max<std::int64_t>(0, counters.rounds_left));
  std::string text = label_ + "  ";
  if (status_.terminal()) text += progress_bar(done / std::max(1.0, done + left)) + "  ";
  text += fmt::format("{}/{} runs", counters.runs_done.load(), counters.runs.load());
  if (bad_ > 0) text += fmt::format(", {} failed or diverged", bad_);
  const double seconds = std::chrono::duration<double>(steady_clock::now() - start_).count();
  if (done > 0 && left > 0) text += fmt::format("  {} left", human_time(seconds / done * left));
  if (best_)
    return text + fmt::format("  best run: {} {:.4g} ({})", metric_->column.name,
                              *best_->last(metric_->column), grid_.settings[best_->setting].name);
  return text + "  " + grid_.settings[setting].name;
}

}  // namespace porter::cli
