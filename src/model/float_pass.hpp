// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "inputs.hpp"
#include "layers.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// Losses and hits of samples at several points: the samples are taken apart once for all of them,
/// and points with few units in their first layer share one product with its weights side by side.
/// In float, which is off by about 1e-7 of a loss near 1, and half the work of double. It keeps its
/// memory from one use to the next.
class FloatPass {
 public:
  static constexpr std::size_t kMaxRows = 256;

  /// False where the parameters are so large that products in float might overflow.
  static bool fits(std::span<const double> x);

  /// Takes the points; the layers must outlive their use.
  void begin(const Layers& layers, std::span<const std::span<const double>> points);

  /// Takes rows [first, first + count) of the data, count <= kMaxRows.
  void load(const Dataset& data, std::size_t first, std::size_t count);

  /// Adds the cross-entropy and the hits of the loaded rows at every point.
  void add_totals(std::span<Model::Totals> totals);

 private:
  // One layer rounded to float and transposed; of several points side by side. Columns are filled
  // up with zeros to whole vectors.
  struct Level {
    std::size_t inputs = 0, columns = 0;
    std::vector<float> weights;  // inputs x columns
    std::vector<float> biases;   // columns

    void begin(std::size_t rows, std::size_t outputs);
    void assign(const Layer& layer, std::span<const double> x, std::size_t column);
  };
  // Points that share the product of the first layer.
  struct Bundle {
    std::size_t points = 0;
    Level first;
    std::vector<float> column_sums;          // 1^T of its weights, for the inputs' background
    std::vector<std::vector<Level>> others;  // of each point: the layers behind
  };

  void assign(Bundle& bundle, std::span<const std::span<const double>> points);
  std::span<float> first_layer(const Bundle& bundle);
  std::span<float> other_layers(const Bundle& bundle, std::size_t point);
  void add_cross_entropy(std::span<float> scores, std::span<Model::Totals> totals) const;

  const Layers* layers_ = nullptr;
  std::vector<Bundle> bundles_;
  Inputs<float> inputs_;
  std::span<const float> labels_;             // of the loaded rows
  std::vector<float> joint_, above_, below_;  // activations: of the first layer, of the others
};

}  // namespace porter
