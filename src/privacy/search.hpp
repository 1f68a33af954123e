// SPDX-License-Identifier: Apache-2.0
// Searches along a line: where a predicate turns, a function is least, or falls to a target.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace porter {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool positive(double value) { return std::isfinite(value) && value > 0; }

/// The largest relative error of one rounding.
template <class Real>
inline constexpr Real kRoundoff = std::numeric_limits<Real>::epsilon() / 2;

/// The smallest x in [low, high] for which `holds`, to the last bit, where it is false and then
/// true; `high` when it never is. The answer is always one for which it holds, or `high`.
template <class Predicate>
double smallest_with(double low, double high, const Predicate& holds) {
  if (holds(low)) return low;
  while (true) {
    const double middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) return high;
    (holds(middle) ? high : low) = middle;
  }
}

/// The argument in [low, high] that nearly minimises f, which should be unimodal there: golden
/// section on the logarithm of the argument, to a fifth. Callers need no more: every
/// argument gives a valid bound.
template <class Function>
double minimise_on_log_scale(const Function& f, double low, double high) {
  constexpr double kGolden = 0.6180339887498949, kClose = 0.2;
  double a = std::log(low), b = std::log(high);
  double x1 = b - kGolden * (b - a), x2 = a + kGolden * (b - a);
  double f1 = f(std::exp(x1)), f2 = f(std::exp(x2));
  while (b - a > kClose) {
    if (f1 <= f2) {
      b = x2, x2 = x1, f2 = f1;
      x1 = b - kGolden * (b - a), f1 = f(std::exp(x1));
    } else {
      a = x1, x1 = x2, f1 = f2;
      x2 = a + kGolden * (b - a), f2 = f(std::exp(x2));
    }
  }
  return std::exp(f1 <= f2 ? x1 : x2);
}

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
  double low_ = 0, high_ = kInfinity;
  Point last_;
  int guesses_ = 0;
};

}  // namespace porter
