// SPDX-License-Identifier: Apache-2.0
#include "gaussian_mechanism.hpp"

#include <algorithm>
#include <limits>
#include <numbers>

#include "search.hpp"

namespace porter {
namespace {

using Real = long double;

template <class Float>
Float upper_tail(Float x) {
  return Float{0.5} * std::erfc(x * (1 / std::numbers::sqrt2_v<Float>));
}

template <class Float>
Float density(Float x) {
  return std::exp(Float{-0.5} * x * x) * std::numbers::inv_sqrtpi_v<Float> *
         (1 / std::numbers::sqrt2_v<Float>);
}

template <class Float>
Float mills(Float t) {
  if (t < 6) return upper_tail(t) / density(t);
  // Laplace's continued fraction 1/(t + 1/(t + 2/(t + 3/(t + ...)))); from 6 on, 60 levels leave
  // exp(-2 t sqrt(120)) at most.
  Float tail = t;
  for (int level = 60; level >= 1; --level) tail = t + static_cast<Float>(level) / tail;
  return 1 / tail;
}

// delta_G where mu/2 - e/mu = a and -mu/2 - e/mu = b are these very numbers: as exp(e) phi(b) =
// phi(a), nothing else is rounded but what is evaluated here. erfc and exp are within 5 units in
// the last place, a density within a^2 + 16 units, a Mills ratio, erfc over a density up to 6,
// within 256.
struct Estimate {
  Real value, error;
};
Estimate curve_at(Real a, Real b) {
  const Real phi = density(a), far = mills(-b);
  if (a <= 0) {
    const Real near = mills(-a), value = phi * (near - far);
    return {value, kRoundoff<Real> * (256 * phi * (near + far) + (a * a + 16) * value)};
  }
  const Real mass = upper_tail(-a);
  return {mass - phi * far, kRoundoff<Real> * (16 * mass + (a * a + 512) * phi * far)};
}

// A bound on delta_G(e; mu) on the side of `sign`. The curve falls with e and grows with mu, so
// h = mu/2 is moved by more than rounding moves it, and c = e/mu so that the product h c is beyond
// e/2.
double one_sided(Real e, Real mu, int sign) {
  const Real h = mu / 2, c = e / mu, margin = 4 * kRoundoff<Real> * (h + c);
  const Real moved_h = h + static_cast<Real>(sign) * margin;
  const Real widest_h = moved_h + static_cast<Real>(sign) * margin;
  // Below, nothing is lost with 0: mu is then at the limit of what can be told from 0.
  if (sign < 0 && !(widest_h > 0)) return 0;
  const Real moved_c = c * (h / widest_h) - static_cast<Real>(sign) * margin;
  const auto [value, error] = curve_at(moved_h - moved_c, -(moved_h + moved_c));
  const auto bounds = probability_bounds(value, error);
  return sign > 0 ? bounds.above : bounds.below;
}

}  // namespace

double normal_mass(double a, double b) {
  if (a >= 0) return upper_tail(a) - upper_tail(b);
  if (b <= 0) return upper_tail(-b) - upper_tail(-a);
  constexpr double kSqrtHalf = 1 / std::numbers::sqrt2;
  return 0.5 * (std::erf(b * kSqrtHalf) + std::erf(-a * kSqrtHalf));
}

double mills_ratio(double t) { return mills(t); }
long double mills_ratio(long double t) { return mills(t); }

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

Bounds probability_bounds(long double value, long double error) {
  // What underflows is not 0.
  constexpr double kLeast = std::numeric_limits<double>::min();
  const auto low = static_cast<double>(value - error), high = static_cast<double>(value + error);
  if (!(low <= high)) return {0, 1};
  return {std::max(0.0, std::nextafter(low, -kInfinity) - kLeast),
          std::min(1.0, std::nextafter(std::max(0.0, high), kInfinity) + kLeast)};
}

Bounds gaussian_delta_bounds(long double e_low, long double e_high, double mu) {
  const Real most = static_cast<Real>(mu) * (1 + static_cast<Real>(kMuRounding));
  const Real least = static_cast<Real>(mu) * (1 - static_cast<Real>(kMuRounding));
  if (!(e_low >= 0 && e_high >= e_low && mu > 0)) return {0, 1};
  // Chernoff: delta_G <= exp(-(c - h)^2 / 2) where c = e/mu > h = mu/2. Good where mu is too small
  // for the tails to be told apart, or where they are below all numbers.
  const Real h = most / 2, c = e_low / most;
  const Real beyond = std::max<Real>(0, c - h - 16 * kRoundoff<Real> * (c + h));
  const double chernoff = probability_bounds(std::exp(-beyond * beyond / 2), 0).above * (1 + 1e-12);
  if (beyond > 39) return {0, chernoff};
  return {one_sided(e_high, least, -1), std::min(one_sided(e_low, most, +1), chernoff)};
}

Bounds gaussian_epsilon(double delta, double mu) {
  if (mu == 0) return {0, 0};
  // Chernoff, again; where its last bits count, e.g. for a delta near the smallest number.
  const double most = (mu * mu / 2 + mu * std::sqrt(-2 * std::log(delta))) * (1 + 2 * kMuRounding) +
                      std::numeric_limits<double>::min();
  if (!std::isfinite(most)) return {0, kInfinity};
  return epsilon_between(most, delta, [&](double e) { return gaussian_delta_bounds(e, e, mu); });
}

}  // namespace porter
