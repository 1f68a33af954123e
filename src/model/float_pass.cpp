// SPDX-License-Identifier: Apache-2.0
#include "float_pass.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/find_others.hpp"
#include "core/matmul.hpp"
#include "core/vector_math.hpp"
#include "inputs.hpp"

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
  data_ = &data;
  first_ = first;
  rows_ = count;
  const std::size_t room = count * data.features + kOthersSlack;
  if (columns_.size() < room) columns_.resize(room), entries_.resize(room);
  starts_.assign(1, 0);
  background_.assign(count, 0.0F);
  for (std::size_t i = 0; i < count; ++i) {
    const Sample sample = data[first + i];
    const std::size_t begin = starts_.back();
    std::size_t end = begin;
    if (sample.sparse) {
      end += sample.values.size();
      std::copy(sample.columns.begin(), sample.columns.end(), columns_.begin() + begin);
      std::copy(sample.values.begin(), sample.values.end(), entries_.begin() + begin);
    } else {
      background_[i] = sample.values[0];
      end += find_others(sample.values, background_[i], columns_.data() + begin);
      for (std::size_t e = begin; e < end; ++e)
        entries_[e] = sample.values[columns_[e]] - background_[i];
    }
    starts_.push_back(static_cast<std::uint32_t>(end));
  }
  dense_ = !data.sparse() && prefers_dense(starts_.back(), count * data.features);
}

std::span<float> FloatPass::scores(const FloatWeights& weights) {
  const std::size_t levels = weights.levels().size();
  for (std::size_t l = 0; l < levels; ++l) {
    const auto& level = weights.levels()[l];
    const std::size_t n = level.columns;
    for (std::size_t i = 0; i < rows_; ++i)
      std::copy(level.biases.begin(), level.biases.end(), above_.begin() + i * n);
    if (l > 0) {
      multiply_add<float>(rows_, n, level.inputs,
                          {below_.data(), weights.levels()[l - 1].columns, 1}, level.weights.data(),
                          n, above_.data(), n);
    } else if (dense_) {
      multiply_add<float>(rows_, n, level.inputs,
                          {data_->values.data() + first_ * data_->features, data_->features, 1},
                          level.weights.data(), n, above_.data(), n);
    } else {
      for (std::size_t i = 0; i < rows_; ++i)
        axpy(background_[i], weights.column_sums(), std::span(above_).subspan(i * n, n));
      multiply_add<float>({starts_, columns_, entries_}, n, level.weights.data(), n, above_.data(),
                          n);
    }
    if (l + 1 == levels) return std::span(above_).first(rows_ * n);
    layers_->activation.apply(std::span(above_).first(rows_ * n));
    std::swap(above_, below_);
  }
  return {};
}

void FloatPass::add_totals(std::size_t p, Model::Totals& totals) {
  const auto all = scores(points_[p]);
  const std::size_t n = all.size() / rows_, classes = layers_->list.back().outputs;
  for (std::size_t i = 0; i < rows_; ++i) {
    const auto row = all.subspan(i * n, classes);
    const auto label = static_cast<std::size_t>(data_->labels[first_ + i]);
    const auto top = std::max_element(row.begin(), row.end());
    totals.correct += static_cast<std::size_t>(top - row.begin()) == label;
    const float most = *top;
    totals.loss += double{most} - double{row[label]};
    for (float& score : row) score -= most;
  }
  exp_in_place(all);
  LogSum logs;
  for (std::size_t i = 0; i < rows_; ++i) {
    double sum = 0;
    for (const float value : all.subspan(i * n, classes)) sum += double{value};
    logs.add(sum);
  }
  totals.loss += logs.total();
}

}  // namespace porter
