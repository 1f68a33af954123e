// SPDX-License-Identifier: Apache-2.0
// Norms and factors of per-sample clipping.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "porter/model/model.hpp"

namespace porter {

/// |g + r| from |g|^2, g'r and |r|^2, never too small: where g and r nearly cancel, so do the
/// digits, and what may have been lost is added (the sums have an error of at most their length in
/// units of rounding, which stays below this for half a million inputs).
inline double norm_of_sum(double g_sq, double product, double r_sq) {
  constexpr double kLost = 1e-10;
  return std::sqrt((g_sq + 2 * product + r_sq) + kLost * (g_sq + r_sq));
}

/// What Model::gradient_sum returns for one sample, its gradient written and its norm known.
inline double sample_factor(const BatchRequest& batch, double norm_sq, std::span<double> gradient) {
  if (!batch.factor) return 1;
  const double factor = (*batch.factor)(std::sqrt(norm_sq));
  if (factor == 0) std::fill(gradient.begin(), gradient.end(), 0.0);  // it may hold NaN
  return factor;
}

}  // namespace porter
