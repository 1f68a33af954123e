// SPDX-License-Identifier: Apache-2.0
#include "audit/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace porter {
namespace {

// The continued fraction of I_x(a, b) (Abramowitz and Stegun 26.5.8) by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  double c = 1, d = 1 / std::max(kTiny, 1 - (a + b) * x / (a + 1)), fraction = d;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  for (int i = 1; i <= 100000; ++i) {
    const double n = i;
    const auto step = [&](double term) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      fraction *= c * d;
    };
    step(n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)));
    step(-(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)));
    if (std::abs(c * d - 1) < kEnough) break;
  }
  return fraction;
}

// The x where a decreasing predicate turns false.
template <class Predicate>
double bisect(double low, double high, Predicate holds) {
  for (int i = 0; i < 80; ++i) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

using Scores = std::vector<double>;

struct Halves {
  Scores with, without;  // sorted
};

// Larger scores speak for D. Where the test is for D' instead, the scores change sign and the
// data sets places.
Halves sorted_half(std::span<const double> with, std::span<const double> without, bool first,
                   bool above) {
  const auto half = [&](std::span<const double> scores) {
    const auto middle = scores.size() / 2;
    const auto part = first ? scores.first(middle) : scores.subspan(middle);
    Scores copy(part.begin(), part.end());
    if (!above)
      for (double& score : copy) score = -score;
    std::sort(copy.begin(), copy.end());
    return copy;
  };
  if (above) return {half(with), half(without)};
  return {half(without), half(with)};
}

std::uint64_t count_above(const Scores& sorted, double threshold) {
  return static_cast<std::uint64_t>(sorted.end() -
                                    std::upper_bound(sorted.begin(), sorted.end(), threshold));
}

// epsilon >= log((P(hit) - delta) / P(false alarm)), each probability at half of the error.
EpsilonBound bound_at(const Halves& halves, double threshold, double delta, double confidence) {
  EpsilonBound bound{.threshold = threshold,
                     .hits = count_above(halves.with, threshold),
                     .false_alarms = count_above(halves.without, threshold),
                     .trials = std::min(halves.with.size(), halves.without.size())};
  const double alpha = (1 - confidence) / 2;
  const double hit = clopper_pearson_lower(bound.hits, halves.with.size(), alpha) - delta;
  const double alarm = clopper_pearson_upper(bound.false_alarms, halves.without.size(), alpha);
  bound.epsilon = hit > alarm ? std::log(hit / alarm) : 0;
  return bound;
}

// Order statistics of both samples, dense where few scores are left.
Scores candidates(const Halves& halves) {
  Scores thresholds;
  for (const Scores* scores : {&halves.with, &halves.without}) {
    const std::size_t n = scores->size();
    for (std::size_t k = 0; k < n; k += 1 + k / 16) {
      thresholds.push_back((*scores)[n - 1 - k]);
      thresholds.push_back((*scores)[k]);
    }
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

// A threshold stands halfway between scores: where the samples do not overlap, far from both.
EpsilonBound best_test(const Halves& halves, double delta, double confidence) {
  const auto thresholds = candidates(halves);
  EpsilonBound best;
  best.epsilon = -1;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double next = thresholds[std::min(i + 1, thresholds.size() - 1)];
    const double middle = thresholds[i] + (next - thresholds[i]) / 2;
    const auto bound = bound_at(halves, middle, delta, confidence);
    if (bound.epsilon > best.epsilon) best = bound;
  }
  return best;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast below the mean.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// P(Binomial(n, p) >= k) = I_p(k, n - k + 1)
double clopper_pearson_lower(std::uint64_t k, std::uint64_t n, double alpha) {
  if (k == 0) return 0;
  const auto a = static_cast<double>(k), b = static_cast<double>(n - k) + 1;
  return bisect(0, 1, [&](double p) { return incomplete_beta(a, b, p) < alpha; });
}

double clopper_pearson_upper(std::uint64_t k, std::uint64_t n, double alpha) {
  return 1 - clopper_pearson_lower(n - k, n, alpha);
}

double two_sided_quantile(double alpha) {
  return bisect(0, 40, [&](double z) { return std::erfc(z / std::sqrt(2.0)) > alpha; });
}

double chi_square_deviation(double sum, double freedom) {
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(sum / freedom) - (1 - spread)) / std::sqrt(spread);
}

EpsilonBound epsilon_lower_bound(std::span<const double> scores_with,
                                 std::span<const double> scores_without, double delta,
                                 double confidence) {
  EpsilonBound chosen;
  chosen.epsilon = -1;
  for (const bool above : {true, false}) {
    auto test = best_test(sorted_half(scores_with, scores_without, true, above), delta, confidence);
    test.above = above;
    if (test.epsilon > chosen.epsilon) chosen = test;
  }
  const auto held_out = sorted_half(scores_with, scores_without, false, chosen.above);
  auto bound = bound_at(held_out, chosen.threshold, delta, confidence);
  bound.above = chosen.above;
  if (!bound.above) bound.threshold = -bound.threshold;
  return bound;
}

}  // namespace porter
