// SPDX-License-Identifier: Apache-2.0
// The losses of a regression: phi(r) of a residual r = prediction - target, summed over the targets
// of a sample. NaN stays NaN, in phi and in phi'.
//   squared   r^2 / 2                                        phi' = r
//   huber     r^2 / 2 where |r| <= 1, else |r| - 1/2         phi' = r, within [-1, 1]
//   cauchy    log(1 + r^2 / 2)                               phi' = r / (1 + r^2 / 2)
#pragma once

#include <cassert>
#include <cmath>
#include <span>

#include "model/residual_slope.hpp"
#include "porter/model/model.hpp"

namespace porter {

inline double residual_loss(LossKind kind, double r) {
  switch (kind) {
    case LossKind::squared:
      return r * r / 2;
    case LossKind::huber:
      return std::abs(r) > 1 ? std::abs(r) - 0.5 : r * r / 2;
    case LossKind::cauchy:
      break;
  }
  return std::log1p(r * r / 2);
}

/// Adds the losses and the squared residuals of one sample.
inline void add_residuals(LossKind kind, std::span<const double> predictions,
                          std::span<const float> targets, Model::Totals& totals) {
  assert(predictions.size() == targets.size());
  for (std::size_t o = 0; o < predictions.size(); ++o) {
    const double r = predictions[o] - double{targets[o]};
    totals.loss += residual_loss(kind, r);
    totals.squared_error += r * r;
  }
}

/// Turns predictions, of double or float, into the derivatives of the loss by them. The difference
/// is taken in double: digits that cancel are those of the prediction only.
template <class Real>
void predictions_to_slopes(LossKind kind, std::span<Real> predictions,
                           std::span<const float> targets) {
  assert(predictions.size() == targets.size());
  for (std::size_t o = 0; o < predictions.size(); ++o)
    predictions[o] =
        static_cast<Real>(residual_slope(kind, double{predictions[o]} - double{targets[o]}));
}

}  // namespace porter
