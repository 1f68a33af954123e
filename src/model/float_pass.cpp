// SPDX-License-Identifier: Apache-2.0
#include "float_pass.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"

namespace porter {
namespace {

// Rows are filled up to whole vectors of every instruction set.
constexpr std::size_t float_columns(std::size_t n) { return (n + 15) / 16 * 16; }

// Blocks of the rows of W become blocks of columns of the result.
void transpose_to_float(const Layer& layer, std::span<const double> weights, std::size_t columns,
                        std::vector<float>& to) {
  constexpr std::size_t kBlock = 16;
  for (std::size_t i = 0; i < layer.outputs; i += kBlock)
    for (std::size_t j = 0; j < layer.inputs; ++j)
      for (std::size_t p = i; p < std::min(i + kBlock, layer.outputs); ++p)
        to[j * columns + p] = static_cast<float>(weights[p * layer.inputs + j]);
}

// Sums of logarithms as the logarithm of a product, which is far from overflow when it is taken.
class LogSum {
 public:
  void add(double factor) {
    product_ *= factor;
    if (!(product_ < 1e100)) flush();
  }
  double total() {
    flush();
    return sum_;
  }

 private:
  void flush() {
    sum_ += std::log(product_);
    product_ = 1;
  }
  double product_ = 1, sum_ = 0;
};

}  // namespace

bool FloatWeights::fits(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::abs(value) < 1e12; });
}

void FloatWeights::assign(const Layers& layers, std::span<const double> x) {
  levels_.resize(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const auto& layer = layers.list[l];
    auto& level = levels_[l];
    level.inputs = layer.inputs;
    level.columns = float_columns(layer.outputs);
    level.weights.assign(layer.inputs * level.columns, 0.0F);
    transpose_to_float(layer, layer.weights_of(x), level.columns, level.weights);
    level.biases.assign(level.columns, 0.0F);
    const auto biases = layer.biases_of(x);
    scaled_copy(1.0, biases, std::span(level.biases).first(biases.size()));
  }
  const auto& first = levels_.front();
  std::vector<double> sums(first.columns, 0.0);
  for (std::size_t j = 0; j < first.inputs; ++j)
    axpy(1.0, std::span(first.weights).subspan(j * first.columns, first.columns), sums);
  column_sums_.resize(first.columns);
  scaled_copy(1.0, sums, column_sums_);
}

void FloatPass::begin(const Layers& layers, std::span<const std::span<const double>> points) {
  layers_ = &layers;
  points_.resize(points.size());
  for (std::size_t p = 0; p < points.size(); ++p) points_[p].assign(layers, points[p]);
  std::size_t widest = 0;
  for (const auto& layer : layers.list) widest = std::max(widest, float_columns(layer.outputs));
  above_.resize(kMaxRows * widest);
  below_.resize(kMaxRows * widest);
}

void FloatPass::load(const Dataset& data, std::size_t first, std::size_t count) {
  assert(count <= kMaxRows);
  inputs_.assign(data, count, [&](std::size_t i) { return first + i; });
  labels_ = std::span(data.labels).subspan(first, count);
}

std::span<float> FloatPass::scores(const FloatWeights& weights) {
  const auto& levels = weights.levels();
  const std::size_t rows = labels_.size();
  for (std::size_t l = 0;; ++l) {
    const auto& [inputs, n, matrix, biases] = levels[l];
    const auto out = std::span(above_).first(rows * n);
    for (std::size_t i = 0; i < rows; ++i)
      std::copy(biases.begin(), biases.end(), out.begin() + i * n);
    if (l == 0)
      inputs_.add_product(n, matrix.data(), weights.column_sums(), out.data());
    else
      multiply_add<float>(rows, n, inputs, {below_.data(), levels[l - 1].columns, 1}, matrix.data(),
                          n, out.data(), n);
    if (l + 1 == levels.size()) return out;
    layers_->activation.apply(out);
    std::swap(above_, below_);
  }
}

void FloatPass::add_totals(std::size_t p, Model::Totals& totals) {
  const auto all = scores(points_[p]);
  const std::size_t rows = labels_.size(), n = all.size() / rows;
  const std::size_t classes = layers_->list.back().outputs;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = all.subspan(i * n, classes);
    const auto label = static_cast<std::size_t>(labels_[i]);
    const auto top = std::max_element(row.begin(), row.end());
    totals.correct += static_cast<std::size_t>(top - row.begin()) == label;
    const float most = *top;
    totals.loss += double{most} - double{row[label]};
    for (float& score : row) score -= most;
  }
  exp_in_place(all);
  LogSum logs;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (const float value : all.subspan(i * n, classes)) sum += double{value};
    logs.add(sum);
  }
  totals.loss += logs.total();
}

}  // namespace porter
