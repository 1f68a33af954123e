// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gaussian_mechanism.hpp"

namespace porter {

/// One step as a pair of distributions on the real line whose loss log(dP/dQ) grows with x.
///   remove    P = (1-q) N(0,1) + q N(mu,1)    Q = N(0,1)
///   replace   P = (1-q) N(0,1) + q N(mu,1)    Q = (1-q) N(0,1) + q N(-mu,1)
/// `remove` with q = 1 is the Gaussian mechanism. Read from Q to P, `remove` is the direction in
/// which a record is added. `replace` is its own mirror image.
struct LossPair {
  enum class Kind { remove, replace };
  Kind kind = Kind::remove;
  double q = 1, mu = 0;

  /// log(dP/dQ) at x.
  double loss(double x) const;
  /// The x with this loss; -infinity for losses below all of them.
  double inverse_loss(double epsilon) const;

  /// P and Q of (x0, x1), and P - exp(e0) Q where e0 is the loss at x0, without cancellation.
  struct Masses {
    double p, q, excess;
  };
  Masses masses(double x0, double x1, double e0) const;

  /// Around the hockey-stick divergence of one step, P(L > e) - exp(e) Q(L > e), for e >= 0. For
  /// `remove` this is q delta_G(log(1 + (exp(e) - 1) / q); mu). They hold for all q and mu within
  /// kMuRounding of these, and for Q against P: with a = exp(e) >= 1 that is never larger, namely
  /// g delta_G(log(a q / g); mu), g = 1 - a (1 - q) <= q, and a q / g >= 1 + (a - 1) / q.
  Bounds delta(double epsilon) const;
};

/// Beyond this loss exp() nears overflow.
inline constexpr double kLargeLoss = 600;

}  // namespace porter
