// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace porter::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr auto kRedrawTime = std::chrono::milliseconds(100);
constexpr auto kLineTime = std::chrono::seconds(1);

}  // namespace

std::string progress_bar(double share) {
  const int full = static_cast<int>(share * kBarWidth);
  std::string text;
  for (int i = 0; i < kBarWidth; ++i) text += i < full ? "█" : "░";
  return text;
}

std::string fit_terminal(std::string text) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return text;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts_character && ++columns >= size.ws_col) return text.substr(0, i);
  }
  return text;
}

std::string human_bits(double bits) {
  constexpr std::array units = {"bit", "kbit", "Mbit", "Gbit", "Tbit"};
  std::size_t unit = 0;
  while (bits >= 1000 && unit + 1 < units.size()) {
    bits /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bits, units[unit]);
}

std::string human_time(double seconds) {
  const auto whole = std::lround(std::max(0.0, seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Progress::Progress(const Trainer& trainer, std::string label)
    : trainer_(trainer), label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) {
  const double sigma = trainer.parts().sigma();
  if (sigma > 0) noise_ = fmt::format("  sigma {:.3g}", sigma);
}

Observer Progress::observer() {
  return {.after_evaluation = [this](const MetricsRow& row) { after_evaluation(row); },
          .after_round =
              [this] {
                if (terminal_ && Clock::now() - shown_ >= kRedrawTime) show(false);
              }};
}

void Progress::after_evaluation(const MetricsRow& row) {
  row_ = row;
  const bool last = trainer_.finished();
  if (terminal_ || last || row.round == 0 || Clock::now() - shown_ >= kLineTime) show(last);
}

void Progress::show(bool last) {
  shown_ = Clock::now();
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", fit_terminal(line()));
  else
    fmt::print(stderr, "{}\n", line());
  std::fflush(stderr);
  drawn_ = true;
  if (last) close();
}

void Progress::close() {
  if (terminal_ && drawn_) fmt::print(stderr, "\n");
  drawn_ = false;
}

std::string Progress::line() const {
  const auto round = trainer_.round(), rounds = trainer_.config().algorithm.rounds;
  std::string text = fmt::format("{}  ", label_);
  if (terminal_) text += progress_bar(double(round) / rounds) + "  ";
  text += fmt::format("round {}/{}", round, rounds);
  if (row_) {
    if (row_->raw) text += fmt::format("  loss {:.4g}", row_->loss);
    if (row_->test_accuracy) text += fmt::format("  accuracy {:.2f} %", 100 * *row_->test_accuracy);
  }
  if (row_ && row_->epsilon) text += fmt::format("  epsilon {:.3g}", *row_->epsilon);
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

}  // namespace porter::cli
