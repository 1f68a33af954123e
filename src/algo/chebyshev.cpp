// SPDX-License-Identifier: Apache-2.0
#include "chebyshev.hpp"

#include <algorithm>
#include <cmath>

#include "algo/led_correction.hpp"

namespace porter {

// With t_k = T_k(mu), mu = y(1), and t_{k+1} = 2 mu t_k - t_{k-1}, what p_k(W) x becomes by a step
// is
//
//   x_{k+1} = (2 t_k y(W) x_k - t_{k-1} x_{k-1}) / t_{k+1},   y(W) = mu I + 2 / (high - low) (W -
//   I)
//
// The t_k grow fast, so their ratios r_k = t_{k-1} / t_k are computed instead.
ChebyshevSteps chebyshev_steps(double low, double high, std::uint32_t s) {
  const double slope = 2 / (high - low), mu = 1 + slope * (1 - high);
  ChebyshevSteps out;
  double r = 1 / mu;
  out.steps.push_back({0, slope * r});
  out.rate = r;
  while (out.steps.size() < s) {
    const double next = 1 / (2 * mu - r);
    out.steps.push_back({r * next, 2 * slope * next});
    out.rate *= next;
    r = next;
  }
  return out;
}

// Agents work this out for themselves, and may find the spectrum with other last bits.
ChebyshevSteps chebyshev_steps(const Mixing& mixing, std::uint32_t s) {
  require_symmetric(mixing.weights);
  constexpr double kDigits = 1e6;
  const double high =
      std::min((std::nearbyint(mixing.alpha * kDigits) + 1) / kDigits, (1 + mixing.alpha) / 2);
  const double lowest = (std::nearbyint(lowest_eigenvalue(mixing.weights) * kDigits) - 1) / kDigits;
  return chebyshev_steps(std::min(lowest, high - 1e-3), high, s);
}

}  // namespace porter
