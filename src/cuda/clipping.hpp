// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "block.hpp"
#include "privacy/clip_factor.hpp"

namespace porter::cuda {

/// What GradientEstimator does between the gradients of samples and what is released.
struct Clipping {
  Clip::Kind kind;
  double tau;
  bool by_sample;  ///< else the mean of the batch is clipped
  double mean;     ///< 1 / b

  PORTER_DEVICE double factor(double norm) const { return clip_factor(kind, tau, norm); }
  PORTER_DEVICE double sample_factor(double norm) const { return by_sample ? factor(norm) : 1; }
  PORTER_DEVICE bool clips_mean() const { return kind != Clip::Kind::none && !by_sample; }
};

/// lambda sum_j x_j^2 / (1 + x_j^2): its derivative by x_j, as regulariser.cpp has it.
PORTER_DEVICE inline double regulariser_slope(double lambda, double x) {
  const double scale = lambda * 2;
  const double q = 1 + x * x;
  return scale * x / (q * q);
}

}  // namespace porter::cuda
