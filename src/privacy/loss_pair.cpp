// SPDX-License-Identifier: Apache-2.0
#include "loss_pair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gaussian_mechanism.hpp"

namespace porter {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

double LossPair::delta(double epsilon) const {
  if (kind == Kind::remove) {
    const double e = inverse_log_mixture(q, epsilon);
    return e == -kInfinity ? -std::expm1(epsilon) : q * gaussian_delta(e, mu);
  }
  if (epsilon < 0) return -std::expm1(epsilon) + std::exp(epsilon) * delta(-epsilon);
  const double x = inverse_loss(epsilon);
  const double centre = normal_mass(x, kInfinity), up = normal_mass(x - mu, kInfinity);
  const double down = normal_mass(x + mu, kInfinity);
  return std::max(0.0, q * (up - down) - std::expm1(epsilon) * ((1 - q) * centre + q * down));
}

double LossPair::reverse_delta(double epsilon) const {
  if (kind == Kind::replace || q == 1) return delta(epsilon);
  // Q(L < -e) - exp(e) P(L < -e).
  const double x = inverse_loss(-epsilon);
  if (x == -kInfinity) return 0;
  const double centre = normal_mass(-kInfinity, x), up = normal_mass(-kInfinity, x - mu);
  return std::max(0.0, centre - std::exp(epsilon) * ((1 - q) * centre + q * up));
}

}  // namespace porter
