// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace porter {

/// Where a decreasing positive function falls to a target. Asks for few values, as they are dear:
/// what is known at two points answers for all that lie outside of them.
class Crossing {
 public:
  Crossing(std::function<double(double)> function, double target)
      : function_(std::move(function)), target_(target) {}

  /// Whether function(x) <= target, where that is known.
  std::optional<bool> known(double x) const {
    if (x >= high_.x) return true;
    if (x <= low_.x) return false;
    return std::nullopt;
  }

  /// Whether function(x) <= target.
  bool reached(double x) {
    if (const auto answer = known(x)) return *answer;
    const double value = function_(x);
    (value <= target_ ? high_ : low_) = {x, value};
    return value <= target_;
  }

  /// About where, in (0, infinity): by the secant on logarithmic scales, or by `slope` from the one
  /// point that is known. Every third guess halves the interval, so that it shrinks in any case.
  double guess(double slope) {
    const bool closed = low_.x > 0 && std::isfinite(high_.x);
    if (closed && (++guesses_ % 3 == 0 || !usable(low_) || !usable(high_)))
      return std::sqrt(low_.x * high_.x);
    if (closed) return by_slope(high_, this->slope());
    const Point& known = low_.x > 0 ? low_ : high_;
    const double jump = usable(known) ? by_slope(known, slope) / known.x : 0;
    return known.x * (low_.x > 0 ? std::clamp(jump, 1.0, 2.0) : std::clamp(jump, 0.5, 1.0));
  }

  /// d log(function) / d log(x) between the two points.
  double slope() const { return std::log(high_.value / low_.value) / std::log(high_.x / low_.x); }

  bool knows_low() const { return low_.x > 0; }

 private:
  struct Point {
    double x, value;
  };
  static bool usable(const Point& point) { return point.value > 0 && std::isfinite(point.value); }
  double by_slope(const Point& from, double slope) const {
    return from.x * std::pow(target_ / from.value, 1 / slope);
  }

  std::function<double(double)> function_;
  double target_;
  Point low_{0, std::numeric_limits<double>::infinity()};
  Point high_{std::numeric_limits<double>::infinity(), 0};
  int guesses_ = 0;
};

}  // namespace porter
