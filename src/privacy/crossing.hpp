// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace porter {

/// sqrt(a b), also where the product is no finite number. 0 < a, b.
inline double geometric_mean(double a, double b) {
  const double product = a * b;
  return std::isfinite(product) ? std::sqrt(product) : std::sqrt(a) * std::sqrt(b);
}

/// Where a decreasing function falls to a target > 0. Asks for few values, as each is expensive:
/// those on either side that are nearest answer for all that lie beyond.
class Crossing {
 public:
  Crossing(std::function<double(double)> function, double target)
      : function_(std::move(function)), target_(target) {}

  /// Whether function(x) <= target, where that is known.
  std::optional<bool> known(double x) const {
    if (x >= high_) return true;
    if (x <= low_) return false;
    return std::nullopt;
  }

  /// Whether function(x) <= target.
  bool reached(double x) {
    if (const auto answer = known(x)) return *answer;
    const double value = function_(x);
    const bool enough = value <= target_;
    (enough ? high_ : low_) = x;
    if (value > 0 && std::isfinite(value)) {
      if (last_.x > 0) slope_ = std::log(value / last_.value) / std::log(x / last_.x);
      last_ = {x, value};
    }
    return enough;
  }

  /// About where, by the secant through the last two values on logarithmic scales. Needs one value.
  /// When that leaves what is known, or goes on for long, the interval is halved; where it has no
  /// end, the steps grow, and infinity is the guess at last.
  double guess() {
    constexpr double kUp = 1 + 1e-9, kDown = 1 - 1e-9;  // the crossing itself may be known
    const double secant = last_.x * std::pow(target_ / last_.value, 1 / slope_);
    const bool inside = low_ * kDown < secant && secant < high_ * kUp;
    if (++guesses_ < kPatience && last_.x > 0 && inside) return secant;
    if (low_ == 0) return high_ / 2;
    return std::isfinite(high_) ? geometric_mean(low_, high_)
                                : std::ldexp(low_, 1 + std::max(0, guesses_ - kPatience));
  }

  /// d log(function) / d log(x), from the last two values; before, what was expected.
  double slope() const { return slope_; }
  void expect_slope(double slope) { slope_ = slope; }
  /// Whether the last value, or the interval that is left, is within `tolerance` of the guess.
  bool near(double guess, double tolerance) const {
    return std::abs(std::log(guess / last_.x)) <= tolerance || std::log(high_ / low_) <= tolerance;
  }

 private:
  static constexpr int kPatience = 12;
  struct Point {
    double x = 0, value = 0;
  };

  std::function<double(double)> function_;
  double target_, slope_ = -1;
  double low_ = 0, high_ = std::numeric_limits<double>::infinity();
  Point last_;
  int guesses_ = 0;
};

}  // namespace porter
