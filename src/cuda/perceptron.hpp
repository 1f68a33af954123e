// SPDX-License-Identifier: Apache-2.0
// The layers of a perceptron. Its gradients are computed as SamplePass and BatchPass of the library
// do: every sum in the same order, every rounding at the same place.
#pragma once

#include "activation.hpp"
#include "clipping.hpp"
#include "sample_rows.hpp"

namespace porter::cuda {

inline constexpr std::uint32_t kMaxLayers = 8;

/// W (outputs x inputs, row-major) at `weights` inside x, then, where `biased`, c at `biases`.
struct DenseLayer {
  std::uint32_t inputs, outputs, weights, biases;
  std::uint32_t level;  ///< where its outputs are among those of all layers
  bool biased;
};

struct Perceptron {
  DenseLayer layers[kMaxLayers];
  std::uint32_t count, units;  ///< layers; outputs of all of them
  Activation activation;

  template <class Real>
  PORTER_DEVICE Real activated(Real t) const {
    return cuda::activated(activation, t);
  }
  /// delta times the derivative at the activation a.
  template <class Real>
  PORTER_DEVICE Real times_slope(Real a, Real delta) const {
    return cuda::times_slope(activation, a, delta);
  }
  /// The layer that coordinate j belongs to.
  PORTER_DEVICE const DenseLayer& layer_of(std::uint32_t j) const {
    std::uint32_t l = 0;
    PORTER_ROLLED
    while (l + 1 < count && j >= layers[l + 1].weights) ++l;
    return layers[l];
  }
};

/// Scores of one sample become delta_L of the cross-entropy (scores_to_delta of layers.cpp).
PORTER_DEVICE inline void scores_to_delta(std::uint32_t size, double* scores, float label) {
  double top = scores[0];
  for (std::uint32_t o = 1; o < size; ++o) top = top < scores[o] ? scores[o] : top;
  double sum = 0;
  for (std::uint32_t o = 0; o < size; ++o) sum += scores[o] = exp_of(scores[o] - top);
  for (std::uint32_t o = 0; o < size; ++o) scores[o] /= sum;
  scores[static_cast<std::uint32_t>(label)] -= 1;
}
PORTER_DEVICE inline void scores_to_delta(std::uint32_t size, float* scores, float label) {
  float top = scores[0];
  for (std::uint32_t o = 1; o < size; ++o) top = top < scores[o] ? scores[o] : top;
  double sum = 0;
  for (std::uint32_t o = 0; o < size; ++o) sum += double{scores[o] = exp_of(scores[o] - top)};
  const auto at = static_cast<std::uint32_t>(label);
  const double others = sum - double{scores[at]};
  for (std::uint32_t o = 0; o < size; ++o) scores[o] = static_cast<float>(double{scores[o]} / sum);
  scores[at] = static_cast<float>(-others / sum);
}

}  // namespace porter::cuda
