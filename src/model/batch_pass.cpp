// SPDX-License-Identifier: Apache-2.0
#include "batch_pass.hpp"

#include <algorithm>

#include "porter/core/matmul.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {

Weights::Weights(const Layers& layers, std::span<const double> x, Slots& slots)
    : layers_(layers), x_(x), slots_(slots) {
  for (std::size_t l = 1; l <= layers.size(); ++l) {
    const auto& layer = layers.list[l - 1];
    transpose(layer.outputs, layer.inputs, layer.weights_of(x).data(), layer.inputs,
              transposed(l).data(), layer.outputs);
  }
  const auto& first = layers.list[0];
  const auto sums = column_sums(), from = transposed(1);
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t j = 0; j < first.inputs; ++j)
    axpy(1.0, from.subspan(j * first.outputs, first.outputs), sums);
}

std::span<double> Weights::transposed(std::size_t l) const {
  return slots_.take(l, layers_.list[l - 1].inputs * layers_.list[l - 1].outputs);
}

std::span<double> Weights::column_sums() const { return slots_.take(0, layers_.list[0].outputs); }

void Weights::add_biases(std::size_t l, std::size_t rows, std::span<double> out) const {
  const auto c = layers_.list[l - 1].biases_of(x_);
  if (c.empty()) return;
  for (std::size_t i = 0; i < rows; ++i) axpy(1.0, c, out.subspan(i * c.size(), c.size()));
}

void Weights::apply(const Inputs& inputs, std::span<double> out) const {
  inputs.multiply(layers_.list[0].outputs, transposed(1).data(), column_sums(), out.data());
  add_biases(1, inputs.rows(), out);
}

void Weights::apply(std::size_t l, std::size_t rows, std::span<const double> in,
                    std::span<double> out) const {
  const auto& layer = layers_.list[l - 1];
  std::fill(out.begin(), out.end(), 0.0);
  multiply_add(rows, layer.outputs, layer.inputs, {in.data(), layer.inputs, 1},
               transposed(l).data(), layer.outputs, out.data(), layer.outputs);
  add_biases(l, rows, out);
}

BatchPass::BatchPass(const Layers& layers, std::span<const double> x, BatchMemory& memory)
    : layers_(layers), x_(x), memory_(memory), weights_(layers, x, memory.weights) {}

std::span<double> BatchPass::activation(std::size_t l) const {
  return memory_.levels.take(2 * l, rows() * layers_.list[l - 1].outputs);
}

std::span<double> BatchPass::delta(std::size_t l) const {
  if (l == layers_.size()) return activation(l);
  return memory_.levels.take(2 * l + 1, rows() * layers_.list[l - 1].outputs);
}

std::span<double> BatchPass::row(std::span<double> matrix, std::size_t i) const {
  const std::size_t width = matrix.size() / rows();
  return matrix.subspan(i * width, width);
}

std::span<double> BatchPass::background_sums() const {
  return memory_.levels.take(0, layers_.list[0].outputs);
}

std::span<double> BatchPass::transposed_sums() const {
  return memory_.levels.take(1, layers_.list[0].outputs * layers_.list[0].inputs);
}

void BatchPass::forward() {
  weights_.apply(memory_.inputs, activation(1));
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    layers_.activation.apply(activation(l));
    weights_.apply(l + 1, rows(), activation(l), activation(l + 1));
  }
}

void BatchPass::backward() {
  for (std::size_t l = layers_.size(); l > 1; --l) {
    const auto& layer = layers_.list[l - 1];
    const auto below = delta(l - 1);
    std::fill(below.begin(), below.end(), 0.0);
    multiply_add(rows(), layer.inputs, layer.outputs, {delta(l).data(), layer.outputs, 1},
                 layer.weights_of(x_).data(), layer.inputs, below.data(), layer.inputs);
    layers_.activation.times_slope(activation(l - 1), below);
  }
}

double BatchPass::squared_norm(std::size_t i) const {
  double sum = 0;
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const double input =
        l == 1 ? memory_.inputs.squared_norm(i) : porter::squared_norm(row(activation(l - 1), i));
    sum += porter::squared_norm(row(delta(l), i)) * (input + (layers_.list[l - 1].biased ? 1 : 0));
  }
  return sum;
}

void BatchPass::multiply_gradients(std::span<const double> y, std::span<double> products) {
  const Weights others(layers_, y, memory_.others);
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

void BatchPass::scale(std::size_t i, double factor) {
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const auto d = row(delta(l), i);
    if (factor != 0) {
      for (double& value : d) value *= factor;
      continue;
    }
    std::fill(d.begin(), d.end(), 0.0);
    if (l == layers_.size()) continue;
    const auto a = row(activation(l), i);
    std::fill(a.begin(), a.end(), 0.0);
  }
  if (factor == 0) memory_.inputs.clear(i);
}

void BatchPass::add_gradient(std::span<double> gradient) {
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const auto& layer = layers_.list[l - 1];
    const auto d = delta(l);
    const auto dW = layer.weights_of(gradient), dc = layer.biases_of(gradient);
    if (!dc.empty())
      for (std::size_t i = 0; i < rows(); ++i) axpy(1.0, row(d, i), dc);
    if (l > 1) {
      multiply_add(layer.outputs, layer.inputs, rows(), {d.data(), 1, layer.outputs},
                   activation(l - 1).data(), layer.inputs, dW.data(), layer.inputs);
    } else if (memory_.inputs.dense()) {
      memory_.inputs.add_dense(layer.outputs, d.data(), dW.data());
    } else {
      const auto u = background_sums(), t = transposed_sums();
      if (!any_sparse_) {
        std::fill(u.begin(), u.end(), 0.0);
        std::fill(t.begin(), t.end(), 0.0);
      }
      any_sparse_ = true;
      memory_.inputs.add_sparse(layer.outputs, d.data(), u, t.data());
    }
  }
}

void BatchPass::finish(std::span<double> gradient) {
  if (!any_sparse_) return;
  const auto& first = layers_.list[0];
  add_transposed(first.inputs, first.outputs, transposed_sums().data(), background_sums(),
                 first.weights_of(gradient).data());
}

}  // namespace porter
