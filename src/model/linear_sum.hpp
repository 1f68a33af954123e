// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "core/vector_math.hpp"
#include "terms.hpp"

namespace porter {

/// Model::gradient_sum of a loss phi(x'f, label) + regulariser: a sample's gradient is
/// slope(x'f, label) f + r, with r the same for all, so a sample costs its non-zeros, and r is
/// written once.
template <class Slope>
double linear_gradient_sum(double lambda, std::span<const double> x, const BatchRequest& batch,
                           std::span<double> sum, Workspace& workspace, Slope slope) {
  const auto sample = [&](std::size_t i) { return batch.data[batch.first_row + batch.rows[i]]; };
  if (lambda > 0)
    regulariser_gradient(lambda, x, sum);
  else
    std::fill(sum.begin(), sum.end(), 0.0);

  if (batch.rows.size() == 1) {
    const Sample one = sample(0);
    const double c = slope(inner_product(x, one), one.label);
    add_features(c, one, sum);
    const double norm_sq = !batch.factor ? 0
                           : lambda > 0  ? squared_norm(sum)
                                         : c * c * squared_norm(one);
    return sample_factor(batch, norm_sq, sum);
  }

  auto& r = workspace.get<std::vector<double>>();
  r.assign(sum.begin(), sum.end());
  const double r_sq = squared_norm(r);
  std::fill(sum.begin(), sum.end(), 0.0);
  double weight = 0;  // of r
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const Sample one = sample(i);
    const double c = slope(inner_product(x, one), one.label);
    double norm = 0;
    if (batch.factor) {
      const double g_sq = c * c * squared_norm(one);
      norm = lambda > 0 ? norm_of_sum(g_sq, c * inner_product(r, one), r_sq, r.size())
                        : std::sqrt(g_sq);
    }
    const double factor = batch.factor_of(i, norm);
    if (factor == 0) continue;
    add_features(factor * c, one, sum);
    weight += factor;
  }
  if (lambda > 0) axpy(weight, r, sum);
  return 1;
}

}  // namespace porter
