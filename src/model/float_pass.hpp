// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "inputs.hpp"
#include "layers.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// The weights of the layers rounded to float: transposed, every row filled up with zeros to whole
/// vectors.
class FloatWeights {
 public:
  void assign(const Layers& layers, std::span<const double> x);

  struct Level {
    std::size_t inputs = 0, columns = 0;  // columns: outputs, filled up
    std::vector<float> weights;           // inputs x columns
    std::vector<float> biases;            // columns
  };
  const std::vector<Level>& levels() const { return levels_; }
  /// 1^T W_1^T, which the background of the inputs is multiplied by.
  std::span<const float> column_sums() const { return column_sums_; }

  /// False where a parameter is so large that products in float might overflow.
  static bool fits(std::span<const double> x);

 private:
  std::vector<Level> levels_;
  std::vector<float> column_sums_;
};

/// Losses and hits of samples at several points: the samples are taken apart once for all of them.
/// In float, which is off by about 1e-7 of a loss near 1, and half the work of double. It keeps its
/// memory from one use to the next.
class FloatPass {
 public:
  static constexpr std::size_t kMaxRows = 256;

  /// Takes the points; the layers must outlive their use.
  void begin(const Layers& layers, std::span<const std::span<const double>> points);

  /// Takes rows [first, first + count) of the data, count <= kMaxRows.
  void load(const Dataset& data, std::size_t first, std::size_t count);

  /// Adds the cross-entropy and the hits of the loaded rows at point p.
  void add_totals(std::size_t p, Model::Totals& totals);

 private:
  std::span<float> scores(const FloatWeights& weights);

  const Layers* layers_ = nullptr;
  std::vector<FloatWeights> points_;
  Inputs<float> inputs_;
  std::span<const float> labels_;     // of the loaded rows
  std::vector<float> above_, below_;  // activations
};

}  // namespace porter
