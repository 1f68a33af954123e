// SPDX-License-Identifier: Apache-2.0
// The layers of a multi-layer perceptron:
//   a_0 = f,  a_l = activation(W_l a_{l-1} + c_l),  scores = W_L a_{L-1} + c_L,
//   x = vec(W_1, c_1, ..., W_L, c_L).
// With deltas  delta_L = softmax(scores) - e_label  (cross-entropy), or phi'(scores - targets) in a
// regression (residuals.hpp),
//   delta_l = W_{l+1}^T delta_{l+1} * activation'(a_l),
// the gradient of one sample is  dW_l = delta_l a_{l-1}^T,  dc_l = delta_l, so its squared norm
//   sum_l |delta_l|^2 (|a_{l-1}|^2 + 1)
// needs no gradient (Goodfellow: Efficient Per-Example Gradient Computations, 2015).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "porter/model/model.hpp"

namespace porter {

/// What a message has positions for.
inline constexpr std::size_t kMaxParameters = 0xFFFFFFFF;

/// One dense layer: W (outputs x inputs, row-major) at `weights` inside x, then, where `biased`, c
/// (outputs) at `biases`.
struct Layer {
  std::size_t inputs, outputs, weights, biases;
  bool biased;

  template <class T>
  std::span<T> weights_of(std::span<T> x) const {
    return x.subspan(weights, inputs * outputs);
  }
  template <class T>
  std::span<T> biases_of(std::span<T> x) const {
    return x.subspan(biases, biased ? outputs : 0);
  }
};

/// An activation in place, and its derivative as a function of its value: delta *= activation'.
/// NaN stays NaN, so that a broken weight or feature shows in the loss and in the norm.
void activate(const Activation& activation, std::span<double> t);
void activate(const Activation& activation, std::span<float> t);
void multiply_by_slope(const Activation& activation, std::span<const double> a,
                       std::span<double> delta);
void multiply_by_slope(const Activation& activation, std::span<const float> a,
                       std::span<float> delta);

struct Layers {
  std::vector<Layer> list;
  Activation activation;
  std::size_t dim = 0;

  Layers(std::size_t features, const std::vector<std::size_t>& widths, bool biased,
         const Activation& hidden);
  std::size_t size() const { return list.size(); }
};

/// Turns scores into delta_L of the cross-entropy.
void scores_to_delta(std::span<double> scores, float label);
void scores_to_delta(std::span<float> scores, float label);

}  // namespace porter
