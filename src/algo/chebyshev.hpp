// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "porter/algo/algorithm.hpp"

namespace porter {

/// s gossip steps that together are p(W) with p(x) = T_s(y(x)) / T_s(y(1)), where y takes [low,
/// high] to [-1, 1] and T_s is the Chebyshev polynomial: of all p of degree s with p(1) = 1 the one
/// that is smallest on [low, high], where the eigenvalues of W but for the first are. As gossip
/// with momentum, x_{-1} = x_0:
///
///   x_{k+1} = x_k + momentum_k (x_k - x_{k-1}) + gain_k (W - I)^T x_k
///
/// Sums over agents stay what they are, as those of (W - I)^T x are zero.
struct ChebyshevSteps {
  struct Step {
    double momentum, gain;
  };
  std::vector<Step> steps;
  double rate = 1;  ///< 1 / T_s(y(1)), the largest |p| on [low, high]
};

/// Expects low < high < 1.
ChebyshevSteps chebyshev_steps(double low, double high, std::uint32_t s);
/// For the eigenvalues of a W, which has to be symmetric: its lowest, and alpha, to six digits, a
/// little beyond both. Error{usage} where it is not symmetric.
ChebyshevSteps chebyshev_steps(const Mixing& mixing, std::uint32_t s);

}  // namespace porter
