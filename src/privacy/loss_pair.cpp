// SPDX-License-Identifier: Apache-2.0
#include "loss_pair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "search.hpp"

namespace porter {
namespace {

// log(1 - q + q exp(t)).
double log_mixture(double q, double t) {
  if (q == 1) return t;
  if (t > 1) return t + std::log(q + (1 - q) * std::exp(-t));
  return std::log1p(q * std::expm1(t));
}

// log(1 + (exp(e) - 1) / q), the inverse of log_mixture.
double inverse_log_mixture(double q, double e) {
  if (q == 1) return e;
  if (e > 1) return e + std::log1p(-(1 - q) * std::exp(-e)) - std::log(q);
  const double y = std::expm1(e) / q;
  return y <= -1 ? -kInfinity : std::log1p(y);
}

// asinh(exp(log_y)).
double asinh_of_exp(double log_y) {
  return log_y > 20 ? log_y + std::log(2.0) : std::asinh(std::exp(log_y));
}

// Single steps are bounded in more precision than they are given in.
using Real = long double;
constexpr Real kLog2 = std::numbers::ln2_v<Real>;

Bounds times(const Bounds& bounds, Real factor, Real factor_error) {
  return {probability_bounds(factor * bounds.below, factor_error * bounds.below).below,
          probability_bounds(factor * bounds.above, factor_error * bounds.above).above};
}

// factor delta_G(e; mu), e as good as `error`.
Bounds scaled_gaussian(Real factor, Real e, Real error, double mu) {
  const auto inner = gaussian_delta_bounds(std::max<Real>(0, e - error), e + error, mu);
  return times(inner, factor, 4 * kRoundoff<Real> * factor);
}

// q delta_G(log(1 + (exp(e) - 1) / q); mu).
Bounds remove_delta(Real e, Real q, double mu) {
  if (e <= 1) {
    const Real inside = std::log1p(std::expm1(e) / q);
    return scaled_gaussian(q, inside, 16 * kRoundoff<Real> * inside, mu);
  }
  const Real inside = e + std::log1p(-(1 - q) * std::exp(-e)) - std::log(q);
  return scaled_gaussian(q, inside, 16 * kRoundoff<Real> * (1 + inside), mu);
}

// LossPair::inverse_loss for `replace` and e >= 0, moved to the side of `sign` by more than its
// rounding.
Real inverse_replace_loss(Real e, Real q, Real mu, int sign) {
  if (e == 0) return 0;
  const Real half = e / 2;
  Real w = 0, error = half;
  if (q < 1) {
    const Real log_sinh =
        half > 1 ? half + std::log1p(-std::exp(-e)) - kLog2 : std::log(std::sinh(half));
    const Real odds = std::log1p(-q) - std::log(q), log_y = odds + mu * mu / 2 + log_sinh;
    w = log_y > 30 ? log_y + kLog2 : std::asinh(std::exp(log_y));
    const Real size = 1 + std::abs(std::log1p(-q)) - std::log(q) + mu * mu / 2 + std::abs(log_sinh);
    error += std::min<Real>(1, w) * size + w;
  }
  const Real x = (half + w + static_cast<Real>(sign) * 32 * kRoundoff<Real> * error) / mu;
  return std::max<Real>(0, x * (1 + static_cast<Real>(sign) * 4 * kRoundoff<Real>));
}

// P(X > x) - exp(e) Q(X > x) with exp(e) = dP/dQ at x, which is >= 0. With the parts' densities
//   w1 = (1-q) phi(x),  w2 = q phi(x - mu),  w3 = q phi(x + mu),   exp(e) = (w1 + w2) / (w1 + w3),
// the share r3 = w3 / (w1 + w3) = 1 - r1, and Mills ratios M in place of tails, this is a sum of
// positive terms without exp(e), which overflows.
Bounds replace_delta(Real e, Real q, Real mu, int sign) {
  const Real x = inverse_replace_loss(e, q, mu, sign);
  const auto phi = [](Real t) {
    return std::exp(-t * t / 2) * std::numbers::inv_sqrtpi_v<Real> / std::numbers::sqrt2_v<Real>;
  };
  const Real logit = std::log1p(-q) - std::log(q) + mu * x + mu * mu / 2;
  const Real r3 = 1 / (1 + std::exp(logit)), r1 = 1 / (1 + std::exp(-logit));
  const Real w1 = (1 - q) * phi(x), w2 = q * phi(x - mu);
  const Real here = mills_ratio(x), right = mills_ratio(x + mu);
  // Units of the last place: 256 in each Mills ratio, 16 in a tail, t^2 + 16 in a density, the
  // exponent in a share.
  const Real shares = 64 + (q < 1 ? 8 * std::abs(logit) : 0);
  const Real first = w1 * r3 * (here - right);
  Real value = first, error = 256 * w1 * r3 * (here + right) + first * (x * x + shares);
  if (x >= mu) {
    const Real left = mills_ratio(x - mu);
    const Real second = w2 * (r1 * (left - here) + r3 * (left - right));
    value += second;
    error += 256 * w2 * (r1 * (left + here) + r3 * (left + right)) +
             second * ((x - mu) * (x - mu) + shares);
  } else {
    const Real tail = q * std::erfc((x - mu) / std::numbers::sqrt2_v<Real>) / 2;
    const Real taken = w2 * (r1 * here + r3 * right);
    value += tail - taken;
    error += 16 * tail + taken * (256 + (x - mu) * (x - mu) + shares);
  }
  return probability_bounds(value, kRoundoff<Real> * error);
}

}  // namespace

double LossPair::loss(double x) const {
  const double up = log_mixture(q, mu * x - mu * mu / 2);
  return kind == Kind::remove ? up : up - log_mixture(q, -mu * x - mu * mu / 2);
}

double LossPair::inverse_loss(double epsilon) const {
  if (kind == Kind::remove) return mu / 2 + inverse_log_mixture(q, epsilon) / mu;
  // With w = mu x - e/2 the equation exp(e) = dP/dQ becomes
  // q exp(-mu^2/2) sinh(w) = (1 - q) sinh(e/2).
  if (epsilon == 0 || q == 1) return epsilon / (2 * mu);
  const double half = std::abs(epsilon) / 2;
  const double log_sinh = half > 20 ? half - std::log(2.0) : std::log(std::sinh(half));
  const double w = asinh_of_exp(std::log1p(-q) - std::log(q) + mu * mu / 2 + log_sinh);
  return std::copysign((half + w) / mu, epsilon);
}

LossPair::Masses LossPair::masses(double x0, double x1, double e0) const {
  const double centre = normal_mass(x0, x1), up = normal_mass(x0 - mu, x1 - mu);
  const double down = kind == Kind::remove ? centre : normal_mass(x0 + mu, x1 + mu);
  Masses m{(1 - q) * centre + q * up, (1 - q) * centre + q * down, 0};
  m.excess = std::abs(e0) < 0.5 ? q * (up - down) - std::expm1(e0) * m.q : m.p - std::exp(e0) * m.q;
  return m;
}

Bounds LossPair::delta(double epsilon) const {
  if (!(epsilon >= 0)) return {0, 1};
  const Real margin = kMuRounding, low_q = q * (1 - margin);
  const Real high_q = std::min<Real>(1, q * (1 + margin));
  if (kind == Kind::remove)
    return {remove_delta(epsilon, low_q, mu).below, remove_delta(epsilon, high_q, mu).above};
  return {replace_delta(epsilon, low_q, mu * (1 - margin), -1).below,
          replace_delta(epsilon, high_q, mu * (1 + margin), +1).above};
}

}  // namespace porter
