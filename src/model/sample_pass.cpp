// SPDX-License-Identifier: Apache-2.0
#include "sample_pass.hpp"

#include <algorithm>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"
#include "terms.hpp"

namespace porter {

template <class Real>
SamplePass<Real>::SamplePass(const Layers& layers, std::span<const Real> x, const Sample& sample,
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
    if (l < layers.size()) activate(layers.activation, out);
  }
}

template <class Real>
template <class Write>
void SamplePass<Real>::for_each_layer(const Write& write) {
  for (std::size_t l = layers_.size(); l > 0; --l) {
    write(l);
    if (l == 1) break;
    const auto& layer = layers_.list[l - 1];
    const auto W = layer.weights_of(x_);
    const auto delta = level(l), a = level(l - 1);
    const auto below = slots_.take(layers_.size() + 1, layer.inputs);
    std::fill(below.begin(), below.end(), 0.0);
    for (std::size_t o = 0; o < layer.outputs; ++o)
      axpy(delta[o], W.subspan(o * layer.inputs, layer.inputs), below);
    multiply_by_slope(layers_.activation, a, below);
    std::copy(below.begin(), below.end(), a.begin());
  }
}

template <class Real>
double SamplePass<Real>::backward(std::span<double> gradient) {
  double norm_sq = 0;
  for_each_layer([&](std::size_t l) { norm_sq += write_layer(l, gradient); });
  return norm_sq;
}

template <class Real>
double SamplePass<Real>::backward(OuterProducts& gradient) {
  constexpr double kOne[] = {1};
  double norm_sq = 0;
  gradient.clear();
  for_each_layer([&](std::size_t l) {
    const auto& layer = layers_.list[l - 1];
    const auto delta = level(l), a = level(l - 1);
    gradient.add(layer.weights, delta, a);
    if (layer.biased) gradient.add(layer.biases, kOne, delta);
    norm_sq += squared_norm(delta) * ((layer.biased ? 1 : 0) + squared_norm(a));
  });
  return norm_sq;
}

template <class Real>
double SamplePass<Real>::write_layer(std::size_t l, std::span<double> gradient) {
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

template class SamplePass<double>;
template class SamplePass<float>;

}  // namespace porter
