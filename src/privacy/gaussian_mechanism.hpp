// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "search.hpp"

namespace porter {

/// Phi(b) - Phi(a) for a <= b, to full relative accuracy in both tails.
double normal_mass(double a, double b);

/// Phi(-t) / phi(t), the Mills ratio of the normal distribution; t >= 0.
double mills_ratio(double t);
long double mills_ratio(long double t);

/// The Gaussian mechanism with sensitivity / noise = mu, exactly (Balle and Wang, Improving the
/// Gaussian Mechanism for Differential Privacy, 2018, Theorem 8):
///   delta_G(e; mu) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu).
/// T steps with mu_t are one with mu^2 = sum mu_t^2. To the accuracy of double; no bound.
double gaussian_delta(double epsilon, double mu);

/// The truth lies between: rounding and the errors of the functions in use are counted.
struct Bounds {
  double below = 0, above = 0;
};

/// [value - error, value + error] within [0, 1]; all of it where either is not a number.
Bounds probability_bounds(long double value, long double error);

/// A mu that was rounded a few times on its way here: the true one is within this, relative.
inline constexpr double kMuRounding = 0x1p-49;

/// Around delta_G(e; mu), from e_low >= 0 and e_high on either side of e.
Bounds gaussian_delta_bounds(long double e_low, long double e_high, double mu);
/// Around the smallest epsilon >= 0 with delta_G(epsilon; mu) <= delta.
Bounds gaussian_epsilon(double delta, double mu);

/// Around the smallest epsilon in [0, most] at which a curve, which falls, is at most `delta`;
/// `bounds(epsilon)` are around the curve.
template <class Curve>
Bounds epsilon_between(double most, double delta, const Curve& bounds) {
  const auto smallest = [&](auto side) {
    return smallest_with(0, most, [&](double e) { return bounds(e).*side <= delta; });
  };
  const double below = smallest(&Bounds::below);
  return {below > 0 ? std::nextafter(below, 0.0) : 0, smallest(&Bounds::above)};
}

}  // namespace porter
