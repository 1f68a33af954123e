// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/algo/algorithm.hpp"

namespace porter {

/// How large the vectors of a run can become that does what its config says, from public numbers
/// alone: n agents, d entries, T rounds, |x0|, step eta, clipping threshold tau, noise sigma and
/// the compressor's rho, or 1 / (1 + omega) where it has none. With clipping a gradient has at most
///
///   g = tau + sigma (sqrt(d) + 10)
///
/// (longer noise: probability below e^-50), or 1 / beta of that where what is tracked gathers them
/// (AlgorithmInfo::gathers), and an agent that walks alone gets at most as far as
///
///   s = 1 + |x0| + eta T g.
///
/// Compression, error feedback and mixing weights amplify for a while, so the bounds leave room:
/// who exceeds them has diverged or does not do what the config says. Without clipping g is not
/// known, and the bounds only keep out what no model holds.
struct PublicBounds {
  double iterate = 0;  ///< |x|, and of a message's part about x: 1000 sqrt(n) s / rho
  double tracker = 0;  ///< |v| likewise: 1000 sqrt(n) g / rho

  /// How far an agent may be from the average of all, whose norm is given: 1000 (s + |mean|).
  double apart(double mean_norm) const { return apart_factor * (scale + mean_norm); }

  double scale = 0, apart_factor = 0;
};

PublicBounds public_bounds(const AlgorithmSetup& setup);

}  // namespace porter
