// SPDX-License-Identifier: Apache-2.0
// Pieces that several models share.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "core/vector_math.hpp"
#include "porter/data/dataset.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// x'f for the features f of a sample; x, of double or float, may be longer than f. Inlined by
/// order: it is most of what a sparse sample costs.
template <class Values>
[[gnu::always_inline]] inline double inner_product(const Values& x, const Sample& sample) {
  double sum = 0;
  if (sample.sparse) {
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      sum += double{x[sample.columns[i]]} * double{sample.values[i]};
  } else {
    for (std::size_t j = 0; j < sample.values.size(); ++j)
      sum += double{x[j]} * double{sample.values[j]};
  }
  return sum;
}

/// |f|^2
inline double squared_norm(const Sample& sample) {
  double sum = 0;
  for (const float value : sample.values) sum += double{value} * double{value};
  return sum;
}

/// y += a f
inline void add_features(double a, const Sample& sample, std::span<double> y) {
  if (sample.sparse) {
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      y[sample.columns[i]] += a * double{sample.values[i]};
  } else {
    for (std::size_t j = 0; j < sample.values.size(); ++j) y[j] += a * double{sample.values[j]};
  }
}

/// What a sample says is right; one that nobody took from a data set may have its label only.
inline std::span<const float> targets_of(const Sample& sample) {
  return sample.targets.empty() ? std::span(&sample.label, 1) : sample.targets;
}

/// lambda sum_j x_j^2 / (1 + x_j^2), the nonconvex regulariser of the paper's section 5.1; unless
/// `gradient` is empty, adds `weight` times its gradient. NaN and infinite entries make the sum and
/// their place in the gradient NaN; of large ones the term is 1 and the gradient 0.
double regulariser(double lambda, std::span<const double> x, std::span<double> gradient,
                   double weight = 1);

/// Overwrites `gradient` with that of the regulariser.
void regulariser_gradient(double lambda, std::span<const double> x, std::span<double> gradient);

/// Turns scores into softmax probabilities in place and returns log sum exp, without overflow.
inline double softmax_in_place(std::span<double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  for (double& s : scores) s -= top;
  exp_in_place(scores);
  double sum = 0;
  for (const double s : scores) sum += s;
  for (double& s : scores) s /= sum;
  return top + std::log(sum);
}

inline std::size_t argmax(std::span<const double> scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

/// |g + r| from |g|^2, g'r and |r|^2, sums of at most `terms` products, never too small: where g
/// and r nearly cancel, so do the digits, and what may have been lost is added (the sums have an
/// error of at most their length in units of rounding).
inline double norm_of_sum(double g_sq, double product, double r_sq, std::size_t terms) {
  const double lost = std::max(1e-10, static_cast<double>(terms) * 0x1p-51);
  return std::sqrt((g_sq + 2 * product + r_sq) + lost * (g_sq + r_sq));
}

/// What Model::gradient_sum returns for one sample, its gradient written and its norm known.
inline double sample_factor(const BatchRequest& batch, double norm_sq, std::span<double> gradient) {
  const double factor = batch.factor_of(0, std::sqrt(norm_sq));
  if (factor == 0) std::fill(gradient.begin(), gradient.end(), 0.0);  // it may hold NaN
  return factor;
}

}  // namespace porter
