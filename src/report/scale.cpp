// SPDX-License-Identifier: Apache-2.0
#include "scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"

namespace porter {
namespace {

int decade(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-9)); }

// 1, 2 or 5 times a power of ten, near span / target.
double nice_step(double span, int target) {
  const double rough = span / target;
  const double power = std::pow(10.0, decade(rough));
  const double share = rough / power;
  return power * (share < 1.5 ? 1 : share < 3 ? 2 : share < 7 ? 5 : 10);
}

// All labels of an axis share their unit and their decimals.
std::vector<Tick> linear_ticks(double low, double high, int target) {
  const double step = nice_step(high - low, target);
  const double largest = std::max(std::abs(low), std::abs(high));
  int exponent = 0;
  if (largest >= 1e4) exponent = decade(largest) / 3 * 3;
  if (largest < 1e-3) exponent = decade(largest);
  const double unit = std::pow(10.0, exponent);
  const int decimals = std::max(0, -decade(step / unit));
  const bool prefixed = exponent >= 3 && exponent <= 12;
  const std::string suffix =
      exponent == 0 ? ""
      : prefixed    ? std::string(1, "kMGT"[static_cast<std::size_t>(exponent / 3 - 1)])
                    : "×" + format_power(1, exponent);
  std::vector<Tick> ticks;
  for (double i = std::ceil(low / step - 1e-9); i <= high / step + 1e-9; ++i) {
    const double value = i == 0 ? 0 : i * step;  // no "-0"
    ticks.push_back(
        {value, value == 0 ? "0" : fmt::format("{:.{}f}{}", value / unit, decimals, suffix)});
  }
  return ticks;
}

std::string log_label(int mantissa, int exponent) {
  if (exponent < -3 || exponent > 3) return format_power(mantissa, exponent);
  return format_number(mantissa * std::pow(10.0, exponent));
}

std::vector<Tick> log_ticks(double low, double high, int target) {
  const int first = decade(low), last = decade(high);
  const bool wide = last - first >= 3;  // then whole decades are enough
  const int stride = wide ? std::max(1, (last - first + target - 1) / target) : 1;
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; ++exponent)
    for (const int mantissa : {1, 2, 5}) {
      if (wide && (mantissa > 1 || exponent % stride != 0)) continue;
      const double value = mantissa * std::pow(10.0, exponent);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      ticks.push_back({value, log_label(mantissa, exponent)});
    }
  return ticks.size() >= 2 ? ticks : linear_ticks(low, high, target);
}

}  // namespace

double Scale::place(double value) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

bool Scale::shows(double value) const {
  return std::isfinite(value) && std::abs(value) <= kLargest && (!log || value >= 1 / kLargest);
}

std::vector<Tick> Scale::ticks(int target) const {
  return log ? log_ticks(low, high, target) : linear_ticks(low, high, target);
}

Scale make_scale(double low, double high, bool log, double margin) {
  const double largest = std::max(std::abs(low), std::abs(high));
  if (largest < 1 / kLargest) return {0, 1, false};
  // Labels tell values apart down to about nine digits; below that a range counts as a point.
  const bool point = high - low <= 1e-9 * largest;
  if (log) {
    if (point) return {low / 2, high * 2, true};
    const double factor = std::pow(high / low, margin);
    return {low / factor, high * factor, true};
  }
  if (point) {
    const double reach = 0.1 * largest;
    return {low - reach, high + reach, false};
  }
  const double extra = margin * (high - low);
  return {low >= 0 ? std::max(0.0, low - extra) : low - extra, high + extra, false};
}

}  // namespace porter
