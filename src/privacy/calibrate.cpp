// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "adaptive.hpp"
#include "bisect.hpp"
#include "gaussian_mechanism.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {
namespace {

// The mechanism of the event with this noise.
Mechanism mechanism_with(PrivacyEvent event, double z) {
  event.noise_multiplier = z;
  return checked_mechanisms(std::span(&event, 1)).front();
}

double certified(const PrivacyEvent& event, double z, double delta) {
  const auto mechanism = mechanism_with(event, z);
  const auto one = std::span(&mechanism, 1);
  return refined(one, certified_directions(one), tail_for(one, delta), epsilon_at(delta)).value;
}

// On one coarse grid: certified as well, but looser.
double coarse(const PrivacyEvent& event, double z, double delta) {
  const auto mechanism = mechanism_with(event, z);
  const auto one = std::span(&mechanism, 1);
  const auto value = on_grid(one, certified_directions(one), grid_for(one, tail_for(one, delta), 0),
                             epsilon_at(delta));
  return value ? *value : certified(event, z, delta);
}

// The largest mu with gaussian_epsilon(mu) <= target.
double gaussian_mu(double target, double delta) {
  double most = 1;
  while (gaussian_delta(target, most) <= delta) most *= 2;
  return smallest_with(0, most, [&](double mu) { return gaussian_delta(target, mu) > delta; });
}

// Given z that is enough: one that is enough and at most `precision` above one that is not.
// Goes down by `factor` first.
template <class Function>
double shrink(const Function& epsilon_of, double z, double target, double factor,
              double precision) {
  double enough = z, too_small = z / factor;
  while (epsilon_of(too_small) <= target) enough = too_small, too_small /= factor;
  while (enough > too_small * (1 + precision)) {
    const double middle = std::sqrt(enough * too_small);
    (epsilon_of(middle) <= target ? enough : too_small) = middle;
  }
  return enough;
}

}  // namespace

double calibrate_noise_multiplier(PrivacyEvent event, double target, double delta) {
  check_delta(delta);
  require(target > 0 && std::isfinite(target), ErrorKind::usage,
          "epsilon: expected a positive number, found ", target);
  if (event.steps == 0) return 0;
  // Without amplification z = (mu of one step at z = 1) sqrt(T) / mu; it is enough for all.
  auto mechanism = mechanism_with(event, 1);
  if (mechanism.kind == Mechanism::Kind::poisson_replace) mechanism.mu *= 2;
  // Without any noise the record is seen, with probability 1 - (1-q)^T, or it is not.
  const double seen = -std::expm1(static_cast<double>(event.steps) * std::log1p(-mechanism.q));
  require(seen > delta, ErrorKind::usage, "delta = ", delta, " is not below ", seen,
          ", the probability that a record is used at all: it would allow to publish records "
          "without any noise; expected a smaller delta");
  // The last bits: a quotient rounded down would miss the target.
  double z = total_mu(std::span(&mechanism, 1)) / gaussian_mu(target, delta) * (1 + 1e-12);
  if (mechanism.kind == Mechanism::Kind::gaussian) return z;

  const auto coarsely = [&](double noise) { return coarse(event, noise, delta); };
  const auto finely = [&](double noise) { return certified(event, noise, delta); };
  constexpr double kPrecision = 5e-5;
  while (coarsely(z) > target) z *= 1.01;  // rates near 1: the grid may cost more than q gains
  z = shrink(coarsely, z, target, 2, 20 * kPrecision);
  while (finely(z) > target) z *= 1 + kPrecision;
  return shrink(finely, z, target, 1 + 20 * kPrecision, kPrecision);
}

}  // namespace porter
