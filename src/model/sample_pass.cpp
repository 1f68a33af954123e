// SPDX-License-Identifier: Apache-2.0
#include "sample_pass.hpp"

#include <algorithm>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"
#include "terms.hpp"

namespace porter {

SamplePass::SamplePass(const Layers& layers, std::span<const double> x, const Sample& sample,
                       Slots& slots)
    : layers_(layers), x_(x), sample_(sample), slots_(slots) {
  if (!sample.sparse) widen(sample.values, level(0));
  for (std::size_t l = 1; l <= layers.size(); ++l) {
    const auto& layer = layers.list[l - 1];
    const auto W = layer.weights_of(x), c = layer.biases_of(x);
    const auto out = level(l);
    if (l == 1 && sample.sparse) {
      for (std::size_t o = 0; o < out.size(); ++o)
        out[o] = inner_product(W.subspan(o * layer.inputs, layer.inputs), sample);
    } else {
      multiply(layer.outputs, layer.inputs, W.data(), level(l - 1).data(), out.data());
    }
    for (std::size_t o = 0; o < c.size(); ++o) out[o] += c[o];
    if (l < layers.size()) layers.activation.apply(out);
  }
}

double SamplePass::backward(std::span<double> gradient) {
  double norm_sq = 0;
  for (std::size_t l = layers_.size(); l > 0; --l) {
    norm_sq += write_layer(l, gradient);
    if (l == 1) break;
    const auto& layer = layers_.list[l - 1];
    const auto W = layer.weights_of(x_);
    const auto delta = level(l), a = level(l - 1);
    const auto below = slots_.take(layers_.size() + 1, layer.inputs);
    std::fill(below.begin(), below.end(), 0.0);
    for (std::size_t o = 0; o < layer.outputs; ++o)
      axpy(delta[o], W.subspan(o * layer.inputs, layer.inputs), below);
    layers_.activation.times_slope(a, below);
    std::copy(below.begin(), below.end(), a.begin());
  }
  return norm_sq;
}

double SamplePass::write_layer(std::size_t l, std::span<double> gradient) {
  const auto& layer = layers_.list[l - 1];
  const auto delta = level(l);
  const auto dW = layer.weights_of(gradient), dc = layer.biases_of(gradient);
  double input_sq = layer.biased ? 1 : 0;
  if (l == 1 && sample_.sparse) {
    std::fill(dW.begin(), dW.end(), 0.0);
    for (std::size_t o = 0; o < layer.outputs; ++o)
      add_features(delta[o], sample_, dW.subspan(o * layer.inputs, layer.inputs));
    input_sq += squared_norm(sample_);
  } else {
    outer_product(delta, level(l - 1), dW.data());
    input_sq += squared_norm(level(l - 1));
  }
  std::copy(delta.begin(), delta.begin() + static_cast<std::ptrdiff_t>(dc.size()), dc.begin());
  return squared_norm(delta) * input_sq;
}

}  // namespace porter
