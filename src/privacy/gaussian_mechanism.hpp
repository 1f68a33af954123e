// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace porter {

/// Phi(b) - Phi(a) for a <= b, to full relative accuracy in both tails.
double normal_mass(double a, double b);

/// Phi(-t) / phi(t), the Mills ratio of the normal distribution; t >= 0.
double mills_ratio(double t);

/// The Gaussian mechanism with sensitivity / noise = mu, exactly (Balle and Wang, Improving the
/// Gaussian Mechanism for Differential Privacy, 2018, Theorem 8):
///   delta_G(e; mu) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu).
/// T steps with mu_t are one with mu^2 = sum mu_t^2.
double gaussian_delta(double epsilon, double mu);

/// The smallest epsilon >= 0 with gaussian_delta(epsilon; mu) <= delta, rounded up.
double gaussian_epsilon(double delta, double mu);

}  // namespace porter
