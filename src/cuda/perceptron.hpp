// SPDX-License-Identifier: Apache-2.0
// The gradients of a perceptron, layer by layer as SamplePass and BatchPass of the library compute
// them: every sum in the same order, every rounding at the same place.
#pragma once

#include "activation.hpp"
#include "clipping.hpp"
#include "sample_rows.hpp"

namespace porter::cuda {

inline constexpr std::uint32_t kMaxLayers = 8;

/// W (outputs x inputs, row-major) at `weights` inside x, then, where `biased`, c at `biases`.
struct DenseLayer {
  std::uint32_t inputs, outputs, weights, biases;
  std::uint32_t level;  ///< where its outputs are among those of all layers
  bool biased;
};

struct Perceptron {
  DenseLayer layers[kMaxLayers];
  std::uint32_t count, units;  ///< layers; outputs of all of them
  ActivationKind activation;

  template <class Real>
  PORTER_DEVICE Real activated(Real t) const {
    return cuda::activated(activation, t);
  }
  /// delta times the derivative at the activation a.
  template <class Real>
  PORTER_DEVICE Real times_slope(Real a, Real delta) const {
    return cuda::times_slope(activation, a, delta);
  }
  /// The layer that coordinate j belongs to.
  PORTER_DEVICE const DenseLayer& layer_of(std::uint32_t j) const {
    std::uint32_t l = 0;
    PORTER_ROLLED
    while (l + 1 < count && j >= layers[l + 1].weights) ++l;
    return layers[l];
  }
};

/// Scores of one sample become delta_L of the cross-entropy (scores_to_delta of layers.cpp).
PORTER_DEVICE inline void scores_to_delta(std::uint32_t size, double* scores, float label) {
  double top = scores[0];
  for (std::uint32_t o = 1; o < size; ++o) top = top < scores[o] ? scores[o] : top;
  double sum = 0;
  for (std::uint32_t o = 0; o < size; ++o) sum += scores[o] = exp_of(scores[o] - top);
  for (std::uint32_t o = 0; o < size; ++o) scores[o] /= sum;
  scores[static_cast<std::uint32_t>(label)] -= 1;
}
PORTER_DEVICE inline void scores_to_delta(std::uint32_t size, float* scores, float label) {
  float top = scores[0];
  for (std::uint32_t o = 1; o < size; ++o) top = top < scores[o] ? scores[o] : top;
  double sum = 0;
  for (std::uint32_t o = 0; o < size; ++o) sum += double{scores[o] = exp_of(scores[o] - top)};
  const auto at = static_cast<std::uint32_t>(label);
  const double others = sum - double{scores[at]};
  for (std::uint32_t o = 0; o < size; ++o) scores[o] = static_cast<float>(double{scores[o]} / sum);
  scores[at] = static_cast<float>(-others / sum);
}

/// What batches are made of that does not change: BatchPass and Inputs look at the data so.
struct BatchInputs {
  const std::uint32_t* unequal;  ///< of each row, the entries off its background
  const float* background;       ///< of each row
  const double* squares;         ///< |row|^2
};

/// A sample of a batch, for the one who adds up gradients.
struct BatchSample {
  enum Kind : std::uint32_t {
    dense,    ///< its product with the inputs is that of all features
    sparse,   ///< of the background, and of what is off it
    left_out  ///< its gradient is not finite
  };
  std::uint64_t row;
  float background;
  Kind kind;
};

/// Activations and deltas of all samples of a batch, agent x batch x units each.
template <class Real>
struct BatchUnits {
  Real *units, *deltas;
  Real* column_sums;     ///< agent x outputs of the first layer
  BatchSample* samples;  ///< agent x batch
};
inline constexpr std::uint32_t kBlockRows = 128;  ///< kMaxRows of BatchPass: part of the format

/// Block x, agent x: what Weights and Inputs of the library decide before the products.
template <class Real>
struct BatchBeginKernel {
  static constexpr int kThreads = 128;

  SampleRows rows;
  bool sparse;
  BatchInputs inputs;
  BatchUnits<Real> batch;
  DenseLayer first;
  std::uint32_t stride;
  const Real* X;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const Real* W = X + agent * stride + first.weights;
    block.each(first.outputs, [&](std::uint32_t o) {
      Real sum = 0;
      for (std::uint32_t j = 0; j < first.inputs; ++j) sum += W[std::size_t{o} * first.inputs + j];
      batch.column_sums[agent * first.outputs + o] = sum;
    });
    const std::uint32_t drawn = rows.count(agent), blocks = (drawn + kBlockRows - 1) / kBlockRows;
    block.each(blocks, [&](std::uint32_t b) {
      const std::uint32_t begin = b * kBlockRows;
      const std::uint32_t end = begin + kBlockRows < drawn ? begin + kBlockRows : drawn;
      std::uint64_t entries = 0;
      for (std::uint32_t s = begin; s < end; ++s) entries += inputs.unequal[rows.row(agent, s)];
      const auto all = static_cast<double>(std::uint64_t{end - begin} * rows.features);
      const bool dense = !sparse && static_cast<double>(entries) > 0.4 * all;  // prefers_dense
      for (std::uint32_t s = begin; s < end; ++s) {
        const std::size_t row = rows.row(agent, s);
        batch.samples[agent * rows.batch + s] = {row, inputs.background[row],
                                                 dense ? BatchSample::dense : BatchSample::sparse};
      }
    });
  }
};

/// Block (agent, group): kGroup samples of the agent through all layers and back, clipped.
template <class Real>
struct BatchDeltasKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kGroup = 8;

  SampleRows rows;
  BatchInputs inputs;
  BatchUnits<Real> batch;
  Clipping clipping;
  Perceptron net;
  std::uint32_t stride;
  const Real* X;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t first = block.y * kGroup, drawn = rows.count(agent);
    if (first >= drawn) return;
    const std::uint32_t count = drawn - first < kGroup ? drawn - first : kGroup;
    const Real* x = X + agent * stride;
    const std::size_t sample = agent * rows.batch + first;
    Real* const units = batch.units + sample * net.units;
    Real* const deltas = batch.deltas + sample * net.units;
    BatchSample* const samples = batch.samples + sample;
    forward(block, agent, count, samples, x, units, deltas);
    const auto& last = net.layers[net.count - 1];
    block.each(count, [&](std::uint32_t s) {
      scores_to_delta(last.outputs, deltas + s * net.units + last.level,
                      rows.labels[samples[s].row]);
    });
    for (std::uint32_t l = net.count; l > 1; --l) {
      const auto& layer = net.layers[l - 1];
      const auto& below = net.layers[l - 2];
      block.each(count * layer.inputs, [&](std::uint32_t item) {
        const std::uint32_t s = item / layer.inputs, i = item % layer.inputs;
        Real sum = 0;
        for (std::uint32_t o = 0; o < layer.outputs; ++o)
          sum += deltas[s * net.units + layer.level + o] * x[layer.weights + o * layer.inputs + i];
        deltas[s * net.units + below.level + i] =
            net.times_slope(units[s * net.units + below.level + i], sum);
      });
    }
    auto* const factors = block.memory_as<double>();
    block.each(count, [&](std::uint32_t s) {
      factors[s] =
          clipping.by_sample
              ? clipping.factor(std::sqrt(squared_norm(
                    inputs.squares[samples[s].row], units + s * net.units, deltas + s * net.units)))
              : 1;
      if (factors[s] == 0) samples[s].kind = BatchSample::left_out;
    });
    block.each(count * net.units, [&](std::uint32_t item) {
      const double factor = factors[item / net.units];
      if (factor == 1) return;
      if (factor == 0) units[item] = 0;
      deltas[item] = factor == 0 ? Real{0} : deltas[item] * static_cast<Real>(factor);
    });
  }

 private:
  PORTER_DEVICE void forward(const Block& block, std::size_t agent, std::uint32_t count,
                             const BatchSample* samples, const Real* x, Real* units,
                             Real* deltas) const {
    for (std::uint32_t l = 0; l < net.count; ++l) {
      const auto& layer = net.layers[l];
      block.each(count * layer.outputs, [&](std::uint32_t item) {
        const std::uint32_t s = item / layer.outputs, o = item % layer.outputs;
        const Real* w = x + layer.weights + std::size_t{o} * layer.inputs;
        Real z = 0;
        if (l == 0) {
          const auto& [row, background, kind] = samples[s];
          const float* f = rows.values_of(row);
          z = kind == BatchSample::dense
                  ? dense_product(f, w, layer.inputs)
                  : sparse_product(f, background, w, layer.inputs,
                                   batch.column_sums[agent * layer.outputs + o]);
        } else {
          const Real* a = units + s * net.units + net.layers[l - 1].level;
          for (std::uint32_t i = 0; i < layer.inputs; ++i) z += a[i] * w[i];
        }
        if (layer.biased) z += x[layer.biases + o];
        if (l + 1 < net.count)
          units[s * net.units + layer.level + o] = net.activated(z);
        else
          deltas[s * net.units + layer.level + o] = z;
      });
    }
  }
  PORTER_DEVICE static Real dense_product(const float* f, const Real* w, std::uint32_t size) {
    Real sum = 0;
    for (std::uint32_t i = 0; i < size; ++i) sum += Real{f[i]} * w[i];
    return sum;
  }
  PORTER_DEVICE static Real sparse_product(const float* f, float background, const Real* w,
                                           std::uint32_t size, Real column_sum) {
    Real sum = Real{background} * column_sum;
    for (std::uint32_t i = 0; i < size; ++i)
      if (f[i] != background) sum += (Real{f[i]} - Real{background}) * w[i];
    return sum;
  }

  PORTER_DEVICE double squared_norm(double input_sq, const Real* units, const Real* deltas) const {
    double sum = 0;
    for (std::uint32_t l = 0; l < net.count; ++l) {
      const auto& layer = net.layers[l];
      if (l > 0) input_sq = square(units + net.layers[l - 1].level, layer.inputs);
      sum += square(deltas + layer.level, layer.outputs) * (input_sq + (layer.biased ? 1 : 0));
    }
    return sum;
  }
  PORTER_DEVICE static double square(const Real* x, std::uint32_t size) {
    double s[kSumLanes] = {};
    for (std::uint32_t i = 0; i < size; ++i) s[i % kSumLanes] += double{x[i]} * double{x[i]};
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }
};

/// Block (agent, tile): the sum of the batch's gradients, BatchPass::add_gradient and finish.
template <class Real>
struct BatchSumKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kTile = 1024;

  SampleRows rows;
  BatchUnits<Real> batch;
  Perceptron net;
  std::uint32_t dim, stride;
  Real* G;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t begin = block.y * kTile;
    block.each(dim - begin < kTile ? dim - begin : kTile, [&](std::uint32_t offset) {
      const std::uint32_t j = begin + offset;
      G[agent * stride + j] = entry(agent, j, net.layer_of(j));
    });
  }

 private:
  PORTER_DEVICE Real entry(std::size_t agent, std::uint32_t j, const DenseLayer& layer) const {
    const std::size_t first = agent * rows.batch * net.units;
    const std::uint32_t drawn = rows.count(agent);
    const Real* deltas = batch.deltas + first + layer.level;
    if (layer.biased && j >= layer.biases) {
      Real sum = 0;
      for (std::uint32_t s = 0; s < drawn; ++s)
        sum += deltas[std::size_t{s} * net.units + (j - layer.biases)];
      return sum;
    }
    const std::uint32_t o = (j - layer.weights) / layer.inputs;
    const std::uint32_t i = j - layer.weights - o * layer.inputs;
    if (layer.level == 0) return first_entry(agent, i, deltas + o);
    const Real* below = batch.units + first + (layer.level - layer.inputs) + i;
    Real sum = 0;
    for (std::uint32_t s = 0; s < drawn; ++s)
      sum += deltas[std::size_t{s} * net.units + o] * below[std::size_t{s} * net.units];
    return sum;
  }

  // Rows whose product is dense, then the others' background and what is off it. A sum that begins
  // with 0 is never -0, so zeros may be added or not.
  PORTER_DEVICE Real first_entry(std::size_t agent, std::uint32_t i, const Real* deltas) const {
    const BatchSample* samples = batch.samples + agent * rows.batch;
    Real sum = 0, backgrounds = 0, others = 0;
    for (std::uint32_t s = 0; s < rows.count(agent); ++s) {
      const auto [row, background, kind] = samples[s];
      if (kind == BatchSample::left_out) continue;
      const Real d = deltas[std::size_t{s} * net.units];
      const float f = rows.values[row * rows.features + i];
      if (kind == BatchSample::dense) {
        sum += d * Real{f};
        continue;
      }
      backgrounds += Real{background} * d;
      if (f != background) others += (Real{f} - Real{background}) * d;
    }
    return sum + (backgrounds + others);
  }
};

/// Block x: the scale of agent x's sum of gradients, where means are clipped or not.
template <class Real>
struct ScaleKernel {
  static constexpr int kThreads = 256;

  Clipping clipping;
  std::uint32_t dim, stride;
  const Real* G;
  double* scales;

  PORTER_DEVICE void operator()(const Block& block) const {
    const Real* g = G + std::size_t{block.x} * stride;
    double scale = clipping.mean;
    if (clipping.clips_mean()) {
      const double square =
          ordered_sum(block, block.memory_as<double>(), kSumLanes, dim,
                      [&](std::uint32_t j) { return double{g[j]} * double{g[j]}; });
      scale *= clipping.factor(std::sqrt(square) * scale);
    }
    block.once([&] { scales[block.x] = scale; });
  }
};

}  // namespace porter::cuda
