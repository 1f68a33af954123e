// SPDX-License-Identifier: Apache-2.0
// The layers of a perceptron. Its gradients are computed as SamplePass and BatchPass of the library
// do: every sum in the same order, every rounding at the same place.
#pragma once

#include "clipping.hpp"
#include "core/exp_parts.hpp"
#include "porter/model/model.hpp"
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
  ActivationKind activation;

  template <class Real>
  PORTER_DEVICE Real activated(Real t) const {
    if (activation == ActivationKind::sigmoid) return 1 / (1 + exp_of(-t));
    if (activation == ActivationKind::tanh) return tanh_of(t);
    return t <= 0 ? 0 : t;
  }
  /// delta times the derivative at the activation a.
  template <class Real>
  PORTER_DEVICE Real times_slope(Real a, Real delta) const {
    if (activation == ActivationKind::sigmoid) return delta * (a * (1 - a));
    if (activation == ActivationKind::tanh) return delta * (1 - a * a);
    return a <= 0 ? 0 : delta;
  }
  /// The layer that coordinate j belongs to.
  PORTER_DEVICE const DenseLayer& layer_of(std::uint32_t j) const {
    std::uint32_t l = 0;
    PORTER_ROLLED
    while (l + 1 < count && j >= layers[l + 1].weights) ++l;
    return layers[l];
  }
};

}  // namespace porter::cuda
