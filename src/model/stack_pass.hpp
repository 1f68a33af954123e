// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "model/layer_stack.hpp"
#include "porter/data/dataset.hpp"
#include "slots.hpp"

namespace porter {

/// What a StackPass keeps from call to call.
template <class Real>
struct StackMemory {
  BasicSlots<Real> levels, deltas, weights, scratch;
  std::vector<double> factors;
  std::vector<Real> room;
};

/// Some samples through the layers of a stack, a block at a time:
///   load, scores, backward, add_gradient, load, ...
/// A dense layer is one product for the block; its gradients delta a^T are never written apart,
/// their norm is |delta| |a|. A convolution is a product for each sample, of its windows. So is its
/// gradient, and where norms are wanted it is kept apart until its factor is known: the Gram
/// matrices of windows and deltas would tell the norm, too, but take positions^2 (inputs + units) /
/// 2 products where adding a gradient that is there takes inputs * units. The few parameters of a
/// group norm go the same way.
template <class Real>
class StackPass {
 public:
  StackPass(const LayerStack& stack, std::span<const Real> x, StackMemory<Real>& memory);

  /// So many samples fit a block: their numbers stay in a second-level cache.
  std::size_t most_rows() const { return most_rows_; }

  /// Computes the scores of the samples data[row_of(i)], i < count <= most_rows().
  template <class RowOf>
  void load(const Dataset& data, std::size_t count, RowOf row_of) {
    begin(count);
    for (std::size_t i = 0; i < count; ++i) assign(i, data[row_of(i)]);
    forward();
  }
  void load(const Sample& sample) {
    begin(1);
    assign(0, sample);
    forward();
  }
  std::size_t rows() const { return rows_; }
  std::span<Real> scores() { return level(stages().size()); }  ///< one row after the other
  std::span<Real> scores(std::size_t i) { return row(scores(), i); }

  enum class Gradients { together, apart };
  /// The deltas of all layers, with those of the last in the place of the scores; norms are to be
  /// had with Gradients::apart.
  void backward(Gradients gradients = Gradients::together);
  /// |gradient of sample i|^2
  double squared_norm(std::size_t i) const;
  /// Multiplies the gradient of sample i; 0 removes the sample, NaN and all.
  void scale(std::size_t i, double factor);
  /// Adds the block's gradients.
  void add_gradient(std::span<Real> gradient);

 private:
  const std::vector<Stage>& stages() const { return stack_.stages; }
  // What stage s takes, and what it gives: level(s) and level(s + 1), rows x numbers.
  std::span<Real> level(std::size_t s) const;
  // The derivatives by level(s), of the last in its place.
  std::span<Real> delta(std::size_t s) const;
  std::span<Real> transposed(std::size_t s) const;
  // Of one sample: the windows of a convolution; its gradient by a stage's parameters that is kept
  // apart.
  std::span<Real> windows(const Stage& stage) const;
  std::span<Real> apart(std::size_t s, std::size_t i) const;
  std::span<Real> row(std::span<Real> matrix, std::size_t i) const;

  void begin(std::size_t rows);
  void assign(std::size_t i, const Sample& sample);
  void forward();
  void forward(std::size_t s, std::size_t i);
  void dense_forward(std::size_t s);
  void backward(std::size_t s, std::size_t i);
  void dense_backward(std::size_t s);
  void add_sample(std::size_t s, std::size_t i, std::span<Real> gradient);
  void add_dense(std::size_t s, std::span<Real> gradient);

  const LayerStack& stack_;
  std::span<const Real> x_;
  StackMemory<Real>& memory_;
  std::size_t rows_ = 0, most_rows_ = 1;
  std::size_t first_ = 0;  // stage with parameters; nothing below it needs deltas
  Gradients gradients_ = Gradients::together;
};

}  // namespace porter
