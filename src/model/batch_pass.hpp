// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "inputs.hpp"
#include "layers.hpp"
#include "slots.hpp"

namespace porter {

/// The weights of the layers inside a vector of parameters, transposed, so that products run along
/// contiguous rows.
template <class Real>
class Weights {
 public:
  Weights(const Layers& layers, std::span<const Real> x, BasicSlots<Real>& slots);

  /// A W_l^T + c_l for the first layer's inputs, or for the rows of activations below a later one.
  void apply(const Inputs<Real>& inputs, std::span<Real> out) const;
  void apply(std::size_t l, std::size_t rows, std::span<const Real> in, std::span<Real> out) const;

 private:
  std::span<Real> transposed(std::size_t l) const;
  std::span<Real> column_sums() const;
  void add_biases(std::size_t l, std::size_t rows, std::span<Real> out) const;

  const Layers& layers_;
  std::span<const Real> x_;
  BasicSlots<Real>& slots_;
};

/// What a BatchPass keeps from call to call.
template <class Real>
struct BatchMemory {
  Inputs<Real> inputs;
  BasicSlots<Real> weights, levels, others;
};

/// Many samples through the layers as matrix products, a block at a time:
///   load, scores, backward, add_gradient, load, ..., finish.
/// In float it takes half the time.
template <class Real>
class BatchPass {
 public:
  BatchPass(const Layers& layers, std::span<const Real> x, BatchMemory<Real>& memory);

  /// Computes the scores of the samples data[row_of(i)], i < count <= kMaxRows.
  template <class RowOf>
  void load(const Dataset& data, std::size_t count, RowOf row_of) {
    memory_.inputs.assign(data, count, row_of);
    forward();
  }
  std::size_t rows() const { return memory_.inputs.rows(); }
  std::span<Real> scores() { return delta(layers_.size()); }  ///< one row after the other
  std::span<Real> scores(std::size_t i) { return row(scores(), i); }

  /// The deltas of all layers, with delta_L in the place of the scores.
  void backward();

  /// |gradient of sample i|^2
  double squared_norm(std::size_t i) const;

  /// Replaces `products` by those of every sample's gradient with a vector y of length dim:
  /// sum_l delta_l' (Y_l a_{l-1} + y_l).
  void multiply_gradients(std::span<const Real> y, std::span<double> products);

  /// Multiplies the gradient of sample i; 0 removes the sample, NaN and all.
  void scale(std::size_t i, double factor);

  /// Adds the block's gradients to `gradient`; some of it waits for finish().
  void add_gradient(std::span<Real> gradient);
  void finish(std::span<Real> gradient);

 private:
  // a_l and delta_l, rows x outputs; delta_L is in the place of the scores a_L.
  std::span<Real> activation(std::size_t l) const;
  std::span<Real> delta(std::size_t l) const;
  std::span<Real> row(std::span<Real> matrix, std::size_t i) const;
  // Of the first layer's gradient: u and T as in Inputs::add_sparse.
  std::span<Real> background_sums() const;
  std::span<Real> transposed_sums() const;
  void forward();

  const Layers& layers_;
  std::span<const Real> x_;
  BatchMemory<Real>& memory_;
  Weights<Real> weights_;
  bool any_sparse_ = false;
};

}  // namespace porter
