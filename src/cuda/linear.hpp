// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clipping.hpp"
#include "core/exp_parts.hpp"
#include "model/residual_slope.hpp"
#include "sample_rows.hpp"

namespace porter::cuda {

/// The derivative by the score of a loss that is a function of one score.
struct ScoreSlope {
  bool logistic;  ///< else that of a regression
  LossKind loss;

  PORTER_DEVICE double operator()(double score, float label) const {
    if (!logistic) return residual_slope(loss, score - double{label});
    const double y = label > 0 ? 1 : -1;
    return -y / (1 + exp_of(y * score));
  }
};

/// What the gradient of one sample of such a loss is made of.
struct LinearSample {
  SampleRows rows;
  Clipping clipping;
  double lambda;
  ScoreSlope slope;
};

/// linear_gradient_sum of the logistic loss, or of a regression, block x for agent x: row x of G,
/// up to scale[x].
template <class Real>
struct LogisticKernel {
  static constexpr int kThreads = 256;

  SampleRows rows;
  Clipping clipping;
  double lambda;
  std::uint32_t dim, stride;
  const Real* X;
  double *G, *R;    ///< agent x stride; R, the gradient of the regulariser, null for one sample
  double* slopes;   ///< agent x batch; null for one sample
  double* factors;  ///< the same
  double* scales;
  ScoreSlope slope;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    double* const g = G + agent * stride;
    auto* const memory = block.memory_as<double>();
    double scale = rows.count(agent) == 1 ? one_sample(block, memory, agent, g) * clipping.mean
                                          : (many_samples(block, memory, agent, g), clipping.mean);
    if (clipping.clips_mean()) {
      const double square =
          ordered_sum(block, memory, kSumLanes, dim, [&](std::uint32_t j) { return g[j] * g[j]; });
      scale *= clipping.factor(std::sqrt(square) * scale);
    }
    block.once([&] { scales[agent] = scale; });
  }

 private:
  PORTER_DEVICE double one_sample(const Block& block, double* memory, std::size_t agent,
                                  double* g) const {
    const Real* x = X + agent * stride;
    const std::size_t row = rows.row(agent, 0);
    const float* f = rows.values_of(row);
    const auto size = rows.size_of(row);
    const double score = ordered_sum(block, memory, 1, size, [&](std::uint32_t i) {
      return double{x[rows.column(row, i)]} * double{f[i]};
    });
    const double c = slope(score, rows.labels[row]);
    block.each(dim, [&](std::uint32_t j) {
      g[j] = lambda > 0 ? regulariser_slope(lambda, double{x[j]}) : 0.0;
    });
    block.each(size, [&](std::uint32_t i) { g[rows.column(row, i)] += c * double{f[i]}; });
    if (!clipping.by_sample) return 1;
    const double square = lambda > 0
                              ? ordered_sum(block, memory, kSumLanes, dim,
                                            [&](std::uint32_t j) { return g[j] * g[j]; })
                              : c * c * ordered_sum(block, memory, 1, size, [&](std::uint32_t i) {
                                  return double{f[i]} * double{f[i]};
                                });
    return clipping.factor(std::sqrt(square));
  }

  // What norm_of_sum of terms.hpp says.
  PORTER_DEVICE double norm_of_sum(double g_sq, double product, double r_sq) const {
    const double terms = static_cast<double>(dim) * 0x1p-51;
    const double lost = terms > 1e-10 ? terms : 1e-10;
    return std::sqrt((g_sq + 2 * product + r_sq) + lost * (g_sq + r_sq));
  }

  PORTER_DEVICE void many_samples(const Block& block, double* memory, std::size_t agent,
                                  double* g) const {
    const Real* x = X + agent * stride;
    double* const r = R + agent * stride;
    double* const c = slopes + agent * rows.batch;
    double* const factor = factors + agent * rows.batch;
    block.each(dim, [&](std::uint32_t j) {
      r[j] = lambda > 0 ? regulariser_slope(lambda, double{x[j]}) : 0.0;
      g[j] = 0;
    });
    const double r_sq =
        ordered_sum(block, memory, kSumLanes, dim, [&](std::uint32_t j) { return r[j] * r[j]; });
    const std::uint32_t drawn = rows.count(agent);
    block.each(drawn, [&](std::uint32_t s) {
      const std::size_t row = rows.row(agent, s);
      const float* f = rows.values_of(row);
      double score = 0, square = 0, product = 0;
      for (std::uint32_t i = 0; i < rows.size_of(row); ++i) {
        const auto j = rows.column(row, i);
        score += double{x[j]} * double{f[i]};
        square += double{f[i]} * double{f[i]};
        product += r[j] * double{f[i]};
      }
      c[s] = slope(score, rows.labels[row]);
      const double g_sq = c[s] * c[s] * square;
      factor[s] = clipping.sample_factor(lambda > 0 ? norm_of_sum(g_sq, c[s] * product, r_sq)
                                                    : std::sqrt(g_sq));
    });
    // Samples in their order at every coordinate.
    if (rows.columns)
      for (std::uint32_t s = 0; s < drawn; ++s) {
        const std::size_t row = rows.row(agent, s);
        block.each(factor[s] == 0 ? 0 : rows.size_of(row), [&](std::uint32_t i) {
          g[rows.column(row, i)] += factor[s] * c[s] * double{rows.values_of(row)[i]};
        });
      }
    else
      block.each(dim, [&](std::uint32_t j) {
        double sum = 0;
        for (std::uint32_t s = 0; s < drawn; ++s)
          if (factor[s] != 0)
            sum += factor[s] * c[s] * double{rows.values_of(rows.row(agent, s))[j]};
        g[j] = sum;
      });
    if (!(lambda > 0)) return;
    const double weight =
        ordered_sum(block, memory, 1, drawn, [&](std::uint32_t s) { return factor[s]; });
    block.each(dim, [&](std::uint32_t j) { g[j] += weight * r[j]; });
  }
};

}  // namespace porter::cuda
