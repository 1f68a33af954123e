// SPDX-License-Identifier: Apache-2.0
#include "batch_pass.hpp"

#include <algorithm>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"

namespace porter {

template <class Real>
Weights<Real>::Weights(const Layers& layers, std::span<const Real> x, BasicSlots<Real>& slots)
    : layers_(layers), x_(x), slots_(slots) {
  for (std::size_t l = 1; l <= layers.size(); ++l) {
    const auto& layer = layers.list[l - 1];
    transpose<Real>(layer.outputs, layer.inputs, layer.weights_of(x).data(), layer.inputs,
                    transposed(l).data(), layer.outputs);
  }
  const auto& first = layers.list[0];
  const auto sums = column_sums(), from = transposed(1);
  std::fill(sums.begin(), sums.end(), Real{0});
  for (std::size_t j = 0; j < first.inputs; ++j)
    axpy(Real{1}, from.subspan(j * first.outputs, first.outputs), sums);
}

template <class Real>
std::span<Real> Weights<Real>::transposed(std::size_t l) const {
  return slots_.take(l, layers_.list[l - 1].inputs * layers_.list[l - 1].outputs);
}

template <class Real>
std::span<Real> Weights<Real>::column_sums() const {
  return slots_.take(0, layers_.list[0].outputs);
}

template <class Real>
void Weights<Real>::add_biases(std::size_t l, std::size_t rows, std::span<Real> out) const {
  const auto c = layers_.list[l - 1].biases_of(x_);
  if (c.empty()) return;
  for (std::size_t i = 0; i < rows; ++i) axpy(Real{1}, c, out.subspan(i * c.size(), c.size()));
}

template <class Real>
void Weights<Real>::apply(const Inputs<Real>& inputs, std::span<Real> out) const {
  inputs.multiply(layers_.list[0].outputs, transposed(1).data(), column_sums(), out.data());
  add_biases(1, inputs.rows(), out);
}

template <class Real>
void Weights<Real>::apply(std::size_t l, std::size_t rows, std::span<const Real> in,
                          std::span<Real> out) const {
  const auto& layer = layers_.list[l - 1];
  std::fill(out.begin(), out.end(), Real{0});
  multiply_add<Real>(rows, layer.outputs, layer.inputs, {in.data(), layer.inputs, 1},
                     transposed(l).data(), layer.outputs, out.data(), layer.outputs);
  add_biases(l, rows, out);
}

template <class Real>
BatchPass<Real>::BatchPass(const Layers& layers, std::span<const Real> x, BatchMemory<Real>& memory)
    : layers_(layers), x_(x), memory_(memory), weights_(layers, x, memory.weights) {}

template <class Real>
std::span<Real> BatchPass<Real>::activation(std::size_t l) const {
  return memory_.levels.take(2 * l, rows() * layers_.list[l - 1].outputs);
}

template <class Real>
std::span<Real> BatchPass<Real>::delta(std::size_t l) const {
  if (l == layers_.size()) return activation(l);
  return memory_.levels.take(2 * l + 1, rows() * layers_.list[l - 1].outputs);
}

template <class Real>
std::span<Real> BatchPass<Real>::row(std::span<Real> matrix, std::size_t i) const {
  const std::size_t width = matrix.size() / rows();
  return matrix.subspan(i * width, width);
}

template <class Real>
std::span<Real> BatchPass<Real>::background_sums() const {
  return memory_.levels.take(0, layers_.list[0].outputs);
}

template <class Real>
std::span<Real> BatchPass<Real>::transposed_sums() const {
  return memory_.levels.take(1, layers_.list[0].outputs * layers_.list[0].inputs);
}

template <class Real>
void BatchPass<Real>::forward() {
  weights_.apply(memory_.inputs, activation(1));
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    activate(layers_.activation, activation(l));
    weights_.apply(l + 1, rows(), activation(l), activation(l + 1));
  }
}

template <class Real>
void BatchPass<Real>::backward() {
  for (std::size_t l = layers_.size(); l > 1; --l) {
    const auto& layer = layers_.list[l - 1];
    const auto below = delta(l - 1);
    std::fill(below.begin(), below.end(), Real{0});
    multiply_add<Real>(rows(), layer.inputs, layer.outputs, {delta(l).data(), layer.outputs, 1},
                       layer.weights_of(x_).data(), layer.inputs, below.data(), layer.inputs);
    multiply_by_slope(layers_.activation, activation(l - 1), below);
  }
}

template <class Real>
double BatchPass<Real>::squared_norm(std::size_t i) const {
  double sum = 0;
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const double input =
        l == 1 ? memory_.inputs.squared_norm(i) : porter::squared_norm(row(activation(l - 1), i));
    sum += porter::squared_norm(row(delta(l), i)) * (input + (layers_.list[l - 1].biased ? 1 : 0));
  }
  return sum;
}

template <class Real>
void BatchPass<Real>::multiply_gradients(std::span<const Real> y, std::span<double> products) {
  const Weights<Real> others(layers_, y, memory_.others);
  std::fill(products.begin(), products.end(), 0.0);
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const auto applied =
        memory_.others.take(layers_.size() + 1, rows() * layers_.list[l - 1].outputs);
    if (l == 1)
      others.apply(memory_.inputs, applied);
    else
      others.apply(l, rows(), activation(l - 1), applied);
    for (std::size_t i = 0; i < rows(); ++i) products[i] += dot(row(delta(l), i), row(applied, i));
  }
}

template <class Real>
void BatchPass<Real>::scale(std::size_t i, double factor) {
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const auto d = row(delta(l), i);
    if (factor != 0) {
      for (Real& value : d) value *= static_cast<Real>(factor);
      continue;
    }
    std::fill(d.begin(), d.end(), Real{0});
    if (l == layers_.size()) continue;
    const auto a = row(activation(l), i);
    std::fill(a.begin(), a.end(), Real{0});
  }
  if (factor == 0) memory_.inputs.clear(i);
}

template <class Real>
void BatchPass<Real>::add_gradient(std::span<Real> gradient) {
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const auto& layer = layers_.list[l - 1];
    const auto d = delta(l);
    const auto dW = layer.weights_of(gradient), dc = layer.biases_of(gradient);
    if (!dc.empty())
      for (std::size_t i = 0; i < rows(); ++i) axpy(Real{1}, row(d, i), dc);
    if (l > 1) {
      multiply_add<Real>(layer.outputs, layer.inputs, rows(), {d.data(), 1, layer.outputs},
                         activation(l - 1).data(), layer.inputs, dW.data(), layer.inputs);
    } else if (memory_.inputs.dense()) {
      memory_.inputs.add_dense(layer.outputs, d.data(), dW.data());
    } else {
      const auto u = background_sums(), t = transposed_sums();
      if (!any_sparse_) {
        std::fill(u.begin(), u.end(), Real{0});
        std::fill(t.begin(), t.end(), Real{0});
      }
      any_sparse_ = true;
      memory_.inputs.add_sparse(layer.outputs, d.data(), u, t.data());
    }
  }
}

template <class Real>
void BatchPass<Real>::finish(std::span<Real> gradient) {
  if (!any_sparse_) return;
  const auto& first = layers_.list[0];
  add_transposed<Real>(first.inputs, first.outputs, transposed_sums().data(), background_sums(),
                       first.weights_of(gradient).data());
}

template class BatchPass<double>;
template class BatchPass<float>;

}  // namespace porter
