// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "core/vector_math.hpp"
#include "terms.hpp"

namespace porter {

/// Model::gradient_sum of a loss phi(x'f, label) + regulariser: a sample's gradient is
/// slope(x'f, label) f + r, with r the same for all, so a sample costs its non-zeros, and r is
/// written once.
namespace detail {

/// `sum` becomes r.
inline void start_linear_sum(double lambda, std::span<const double> x, std::span<double> sum) {
  if (lambda > 0)
    regulariser_gradient(lambda, x, sum);
  else
    std::fill(sum.begin(), sum.end(), 0.0);
}

/// What gradient_sum returns for one sample, whose gradient, c f + r, is in `sum`.
inline double linear_sample_factor(double lambda, double c, const Sample& sample,
                                   const BatchRequest& batch, std::span<double> sum) {
  const double norm_sq = !batch.factor ? 0
                         : lambda > 0  ? squared_norm(sum)
                                       : c * c * squared_norm(sample);
  return sample_factor(batch, norm_sq, sum);
}

}  // namespace detail

template <class Slope>
double linear_gradient_sum(double lambda, std::span<const double> x, const BatchRequest& batch,
                           std::span<double> sum, Workspace& workspace, Slope slope) {
  const auto sample = [&](std::size_t i) { return batch.data[batch.first_row + batch.rows[i]]; };
  detail::start_linear_sum(lambda, x, sum);
  if (batch.rows.size() == 1) {
    const Sample one = sample(0);
    const double c = slope(inner_product(x, one), one.label);
    add_features(c, one, sum);
    return detail::linear_sample_factor(lambda, c, one, batch, sum);
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

/// Model::sample_gradients of the same loss; slopes(scores, labels) turns scores into slopes. Step
/// by step for all agents: while one waits, for its row of the data or the end of a sum, others go
/// on.
template <class Slopes>
void linear_sample_gradients(double lambda, std::span<const AgentBatch> agents,
                             std::span<double> scales, Slopes slopes) {
  constexpr std::size_t kTogether = 16;
  for (; !agents.empty(); agents = agents.subspan(std::min(kTogether, agents.size()))) {
    const auto part = agents.first(std::min(kTogether, agents.size()));
    std::array<Sample, kTogether> samples;
    std::array<double, kTogether> c;
    std::array<float, kTogether> labels;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto& batch = part[i].batch;
      samples[i] = batch.data[batch.first_row + batch.rows[0]];
      labels[i] = samples[i].label;
      c[i] = inner_product(part[i].x, samples[i]);
    }
    for (const auto& agent : part) detail::start_linear_sum(lambda, agent.x, agent.sum);
    slopes(std::span(c).first(part.size()), std::span(labels).first(part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) add_features(c[i], samples[i], part[i].sum);
    for (std::size_t i = 0; i < part.size(); ++i)
      scales[i] =
          detail::linear_sample_factor(lambda, c[i], samples[i], part[i].batch, part[i].sum);
    scales = scales.subspan(part.size());
  }
}

}  // namespace porter
