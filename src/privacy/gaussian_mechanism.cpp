// SPDX-License-Identifier: Apache-2.0
#include "gaussian_mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bisect.hpp"

namespace porter {
namespace {

constexpr double kSqrtHalf = 1 / std::numbers::sqrt2;

double upper_tail(double x) { return 0.5 * std::erfc(x * kSqrtHalf); }

double density(double x) { return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi * kSqrtHalf; }

}  // namespace

double normal_mass(double a, double b) {
  if (a >= 0) return upper_tail(a) - upper_tail(b);
  if (b <= 0) return upper_tail(-b) - upper_tail(-a);
  return 0.5 * (std::erf(b * kSqrtHalf) + std::erf(-a * kSqrtHalf));
}

double mills_ratio(double t) {
  if (t < 6) return upper_tail(t) / density(t);
  // Laplace's continued fraction 1/(t + 1/(t + 2/(t + 3/(t + ...)))); from 6 on, 60 levels reach
  // the accuracy of double.
  double tail = t;
  for (int level = 60; level >= 1; --level) tail = t + level / tail;
  return 1 / tail;
}

double gaussian_delta(double epsilon, double mu) {
  if (mu == 0) return std::max(0.0, -std::expm1(epsilon));
  // For every pair that is its own mirror image: delta(e) = 1 - exp(e) + exp(e) delta(-e).
  if (epsilon < 0) return -std::expm1(epsilon) + std::exp(epsilon) * gaussian_delta(-epsilon, mu);
  const double a = mu / 2 - epsilon / mu, b = -mu / 2 - epsilon / mu;
  // exp(e) phi(b) = phi(a) takes the large exponential out of the tail.
  if (a <= 0) return density(a) * (mills_ratio(-a) - mills_ratio(-b));
  if (epsilon > 1) return upper_tail(-a) - density(a) * mills_ratio(-b);
  return normal_mass(b, a) - std::expm1(epsilon) * upper_tail(-b);
}

double gaussian_epsilon(double delta, double mu) {
  if (std::isinf(mu)) return mu;
  // Chernoff: delta_G(e) <= exp(-(e/mu - mu/2)^2 / 2) brackets the answer from above.
  return smallest_with(0, mu * mu / 2 + mu * std::sqrt(2 * std::log(1 / delta)),
                       [&](double e) { return gaussian_delta(e, mu) <= delta; });
}

}  // namespace porter
