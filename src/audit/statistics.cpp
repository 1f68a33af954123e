// SPDX-License-Identifier: Apache-2.0
#include "audit/statistics.hpp"

#include <cmath>
#include <limits>

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

}  // namespace porter
