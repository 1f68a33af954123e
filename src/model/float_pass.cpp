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

// Points share a product while their weights, which every row reads, leave room in a second-level
// cache; measured.
constexpr std::size_t kJointBytes = 384 * 1024;

std::size_t points_of_a_bundle(const Layer& first) {
  return std::max<std::size_t>(1, kJointBytes / (first.inputs * first.outputs * sizeof(float)));
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

bool FloatPass::fits(std::span<const double> x) { return squared_norm(x) < 1e24; }

void FloatPass::Level::begin(std::size_t rows, std::size_t outputs) {
  inputs = rows;
  columns = float_columns(outputs);
  weights.assign(inputs * columns, 0.0F);
  biases.assign(columns, 0.0F);
}

// The layer's outputs become the columns from `column` on; in blocks of rows of W.
void FloatPass::Level::assign(const Layer& layer, std::span<const double> x, std::size_t column) {
  constexpr std::size_t kBlock = 16;
  const auto from = layer.weights_of(x);
  float* to = weights.data() + column;
  for (std::size_t i = 0; i < layer.outputs; i += kBlock)
    for (std::size_t j = 0; j < layer.inputs; ++j)
      for (std::size_t p = i; p < std::min(i + kBlock, layer.outputs); ++p)
        to[j * columns + p] = static_cast<float>(from[p * layer.inputs + j]);
  const auto c = layer.biases_of(x);
  scaled_copy(1.0, c, std::span(biases).subspan(column, c.size()));
}

void FloatPass::assign(Bundle& bundle, std::span<const std::span<const double>> points) {
  const auto& layers = layers_->list;
  bundle.points = points.size();
  bundle.first.begin(layers[0].inputs, points.size() * layers[0].outputs);
  bundle.others.resize(points.size());
  for (std::size_t p = 0; p < points.size(); ++p) {
    bundle.first.assign(layers[0], points[p], p * layers[0].outputs);
    auto& others = bundle.others[p];
    others.resize(layers.size() - 1);
    for (std::size_t l = 1; l < layers.size(); ++l) {
      others[l - 1].begin(layers[l].inputs, layers[l].outputs);
      others[l - 1].assign(layers[l], points[p], 0);
    }
  }
  const auto& [inputs, columns, weights, biases] = bundle.first;
  std::vector<double> sums(columns, 0.0);
  for (std::size_t j = 0; j < inputs; ++j)
    axpy(1.0, std::span(weights).subspan(j * columns, columns), sums);
  bundle.column_sums.resize(columns);
  scaled_copy(1.0, sums, bundle.column_sums);
}

void FloatPass::begin(const Layers& layers, std::span<const std::span<const double>> points) {
  layers_ = &layers;
  const std::size_t together = points_of_a_bundle(layers.list[0]);
  bundles_.resize((points.size() + together - 1) / together);
  std::size_t first = 0, widest = 0;
  for (auto& bundle : bundles_) {
    assign(bundle, points.subspan(first, std::min(together, points.size() - first)));
    first += bundle.points;
    widest = std::max(widest, bundle.first.columns);
  }
  joint_.resize(kMaxRows * widest);
  widest = 0;
  for (const auto& layer : layers.list) widest = std::max(widest, float_columns(layer.outputs));
  above_.resize(kMaxRows * widest);
  below_.resize(kMaxRows * widest);
}

void FloatPass::load(const Dataset& data, std::size_t first, std::size_t count) {
  assert(count <= kMaxRows);
  inputs_.assign(data, count, [&](std::size_t i) { return first + i; });
  labels_ = std::span(data.labels).subspan(first, count);
}

std::span<float> FloatPass::first_layer(const Bundle& bundle) {
  const auto& [inputs, n, weights, biases] = bundle.first;
  const auto out = std::span(joint_).first(labels_.size() * n);
  for (std::size_t i = 0; i < labels_.size(); ++i)
    std::copy(biases.begin(), biases.end(), out.begin() + i * n);
  inputs_.add_product(n, weights.data(), bundle.column_sums, out.data());
  if (layers_->size() > 1) activate(layers_->activation, out);
  return out;
}

// Of one point of the bundle whose first layer has been computed.
std::span<float> FloatPass::other_layers(const Bundle& bundle, std::size_t point) {
  const auto& levels = bundle.others[point];
  StridedMatrix<float> in = {joint_.data() + point * layers_->list[0].outputs, bundle.first.columns,
                             1};
  for (std::size_t l = 0;; ++l) {
    const auto& [inputs, n, weights, biases] = levels[l];
    const auto out = std::span(above_).first(labels_.size() * n);
    for (std::size_t i = 0; i < labels_.size(); ++i)
      std::copy(biases.begin(), biases.end(), out.begin() + i * n);
    multiply_add<float>(labels_.size(), n, inputs, in, weights.data(), n, out.data(), n);
    if (l + 1 == levels.size()) return out;
    activate(layers_->activation, out);
    std::swap(above_, below_);
    in = {below_.data(), n, 1};
  }
}

// Every row has the scores of one point after those of the other.
void FloatPass::add_cross_entropy(std::span<float> scores, std::span<Model::Totals> totals) const {
  const std::size_t n = scores.size() / labels_.size(), classes = layers_->list.back().outputs;
  for (std::size_t i = 0; i < labels_.size(); ++i)
    for (std::size_t p = 0; p < totals.size(); ++p) {
      const auto row = scores.subspan(i * n + p * classes, classes);
      const auto label = static_cast<std::size_t>(labels_[i]);
      const auto top = std::max_element(row.begin(), row.end());
      totals[p].correct += static_cast<std::size_t>(top - row.begin()) == label;
      const float most = *top;
      totals[p].loss += double{most} - double{row[label]};
      for (float& score : row) score -= most;
    }
  exp_in_place(scores);
  for (std::size_t p = 0; p < totals.size(); ++p) {
    LogSum logs;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      double sum = 0;
      for (const float value : scores.subspan(i * n + p * classes, classes)) sum += double{value};
      logs.add(sum);
    }
    totals[p].loss += logs.total();
  }
}

void FloatPass::add_totals(std::span<Model::Totals> totals) {
  std::size_t first = 0;
  for (const auto& bundle : bundles_) {
    const auto joint = first_layer(bundle);
    if (layers_->size() == 1)
      add_cross_entropy(joint, totals.subspan(first, bundle.points));
    else
      for (std::size_t p = 0; p < bundle.points; ++p)
        add_cross_entropy(other_layers(bundle, p), totals.subspan(first + p, 1));
    first += bundle.points;
  }
}

}  // namespace porter
