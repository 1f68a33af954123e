// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perceptron.hpp"

namespace porter::cuda {

/// The gradient of one sample per agent in factors: entry (o, i) of a layer is delta_o a_i.
struct Factors {
  double *units, *deltas;  ///< agent x units
  double* scales;
};

/// Block (agent, part): SamplePass of an agent, in double at an x of either type, and the clip's
/// factor. Parts share the first layer; the last one that is through with it does the rest.
template <class Real>
struct SampleKernel {
  static constexpr int kThreads = 512;

  SampleRows rows;  ///< all features of each
  bool sparse;      ///< those that are zero were not in the file
  Clipping clipping;
  double lambda;
  Perceptron net;
  std::uint32_t dim, stride;
  const Real* X;
  const double* squares;  ///< |row|^2 of each row
  Factors factors;
  std::uint32_t split;  ///< parts
  std::uint32_t* done;  ///< parts of each agent that are through
  double* scratch;      ///< numbers() per block, where its own memory has no room; else null

  /// Inputs, units, deltas, partial sums; behind them, of type Real, what of x it keeps at hand.
  PORTER_DEVICE std::size_t numbers() const {
    std::uint32_t most = 2 * net.count;
    for (std::uint32_t l = 0; l < net.count; ++l)
      most = most < net.layers[l].outputs ? net.layers[l].outputs : most;
    return rows.features + 2 * net.units + kSumLanes * std::size_t{most} + 1;
  }
  /// Outputs of the first layer in a part.
  PORTER_DEVICE std::uint32_t each() const { return (net.layers[0].outputs + split - 1) / split; }
  /// What of x is behind the first layer's weights, and where parts share these, their rows.
  PORTER_DEVICE std::size_t behind() const {
    return dim - net.layers[0].outputs * net.layers[0].inputs;
  }
  PORTER_DEVICE std::size_t rows_at_hand() const {
    return split > 1 ? std::size_t{each()} * net.layers[0].inputs : 0;
  }
  std::size_t bytes() const {
    const auto own = numbers() * sizeof(double) + (behind() + rows_at_hand()) * sizeof(Real);
    return lambda > 0 && own < kSumBytes ? kSumBytes : own;
  }

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const Real* x = X + agent * stride;
    const std::size_t row = rows.row(agent, 0);
    const float label = rows.labels[row];
    const double row_sq = squares[row];
    const auto& first = net.layers[0];
    const std::uint32_t begin = block.y * each(), weights = first.outputs * first.inputs;
    const std::uint32_t stop = begin + each() < first.outputs ? begin + each() : first.outputs;
    const std::uint32_t end = stop < begin ? begin : stop;
    auto* const memory =
        scratch ? scratch + (agent * split + block.y) * numbers() : block.memory_as<double>();
    Work w{memory,
           memory + rows.features,
           memory + rows.features + net.units,
           memory + rows.features + 2 * net.units,
           x,
           x + begin * first.inputs};
    if (!scratch) {
      auto* const behind_at = reinterpret_cast<Real*>(memory + numbers());
      if (split > 1 && begin < end) {
        block.load(behind_at + behind(), w.rows, (end - begin) * first.inputs);
        w.rows = behind_at + behind();
      }
      block.load(behind_at, x + weights, static_cast<std::uint32_t>(behind()));
      w.x = behind_at - weights;
    }
    block.load(w.input, rows.values_of(row), rows.features);
    block.each(0, [](std::uint32_t) {});
    PORTER_ROLLED
    for (std::uint32_t l = 0; l < net.count; ++l) {
      forward(block, agent, w, l, l == 0 ? begin : 0, l == 0 ? end : net.layers[l].outputs);
      if (l == 0 && split > 1 && !is_last(block, agent, w)) return;
    }
    scores_to_deltas(block, agent, w, label);
    backward(block, agent, w);
    const double norm_sq = lambda > 0 ? regularised_square(block, agent) : square(block, w, row_sq);
    block.once([&] {
      factors.scales[agent] = clipping.sample_factor(std::sqrt(norm_sq)) * clipping.mean;
    });
  }

  /// Where an agent's factors are.
  struct View {
    const float* input;
    const double *units, *deltas;
    const Real* x;
  };
  PORTER_DEVICE View view(std::size_t agent) const {
    return {rows.values_of(rows.row(agent, 0)), factors.units + agent * net.units,
            factors.deltas + agent * net.units, X + agent * stride};
  }
  /// Entry j of the gradient, before the scale.
  PORTER_DEVICE PORTER_RARE double at(View v, std::uint32_t j) const {
    const auto& layer = net.layer_of(j);
    double value;
    if (layer.biased && j >= layer.biases) {
      value = v.deltas[layer.level + (j - layer.biases)];
    } else {
      const std::uint32_t o = (j - layer.weights) / layer.inputs;
      value = product(v, layer, o, j - layer.weights - o * layer.inputs);
    }
    return lambda > 0 ? value + regulariser_slope(lambda, double{v.x[j]}) : value;
  }
  PORTER_DEVICE double at(std::size_t agent, std::uint32_t j) const { return at(view(agent), j); }
  /// Entries j and j + 1 < dim.
  PORTER_DEVICE PORTER_RARE Pair<double> pair(View v, std::uint32_t j) const {
    const auto& layer = net.layer_of(j);
    const std::uint32_t o = (j - layer.weights) / layer.inputs;
    const std::uint32_t i = j - layer.weights - o * layer.inputs;
    if (o >= layer.outputs || i + 1 >= layer.inputs || lambda > 0)
      return {{at(v, j), at(v, j + 1)}};
    return {{product(v, layer, o, i), product(v, layer, o, i + 1)}};
  }

 private:
  struct Work {
    double *input, *units, *deltas, *sums;
    const Real *x, *rows;  // parameters; those of this part of the first layer
  };

  PORTER_DEVICE double product(const View& v, const DenseLayer& layer, std::uint32_t o,
                               std::uint32_t i) const {
    const double a =
        layer.level == 0 ? double{v.input[i]} : v.units[layer.level - layer.inputs + i];
    const double value = v.deltas[layer.level + o] * a;
    if (sparse && layer.level == 0) return a == 0 ? 0.0 : 0.0 + value;
    return value;
  }

  PORTER_DEVICE static double added(const double* s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }

  /// Outputs begin to end - 1 of layer l.
  PORTER_DEVICE void forward(const Block& block, std::size_t agent, const Work& w, std::uint32_t l,
                             std::uint32_t begin, std::uint32_t end) const {
    const auto& layer = net.layers[l];
    const double* a = l == 0 ? w.input : w.units + (layer.level - layer.inputs);
    const Real* W = l == 0 ? w.rows : w.x + layer.weights;  // of output `begin`
    const bool running = sparse && l == 0;
    block.each(running ? 0 : kSumLanes * (end - begin), [&](std::uint32_t item) {
      w.sums[item] = lane_product(W + std::size_t{item / kSumLanes} * layer.inputs, a,
                                  item % kSumLanes, layer.inputs);
    });
    const bool last = l + 1 == net.count;
    block.each(end - begin, [&](std::uint32_t item) {
      const std::uint32_t o = begin + item;
      double z = running ? running_product(W + std::size_t{item} * layer.inputs, a, layer.inputs)
                         : added(w.sums + kSumLanes * item);
      if (layer.biased) z += double{w.x[layer.biases + o]};
      const double value = last ? z : net.activated(z);
      (last ? w.deltas : w.units)[layer.level + o] = value;
      if (!last || split > 1)
        (last ? factors.deltas : factors.units)[agent * net.units + layer.level + o] = value;
    });
  }
  // Several loads on their way at once.
  PORTER_DEVICE static double lane_product(const Real* w, const double* a, std::uint32_t lane,
                                           std::uint32_t size) {
    constexpr std::uint32_t kAtOnce = 14;
    double sum = 0;
    std::uint32_t i = lane;
    PORTER_ROLLED
    for (; i + kSumLanes * (kAtOnce - 1) < size; i += kSumLanes * kAtOnce) {
      Real some[kAtOnce];
      for (std::uint32_t n = 0; n < kAtOnce; ++n) some[n] = w[i + kSumLanes * n];
      for (std::uint32_t n = 0; n < kAtOnce; ++n) sum += double{some[n]} * a[i + kSumLanes * n];
    }
    PORTER_ROLLED
    for (; i < size; i += kSumLanes) sum += double{w[i]} * a[i];
    return sum;
  }
  // Zeros are not among the entries of a sparse row.
  PORTER_DEVICE static double running_product(const Real* w, const double* a, std::uint32_t size) {
    double sum = 0;
    PORTER_ROLLED
    for (std::uint32_t i = 0; i < size; ++i)
      if (a[i] != 0) sum += double{w[i]} * a[i];
    return sum;
  }

  /// The last of an agent's parts gets the first layer of all.
  PORTER_DEVICE bool is_last(const Block& block, std::size_t agent, const Work& w) const {
    block.once([&] {
      fence();
      w.sums[0] = atomic_add(&done[agent], 1) == split - 1 ? 1 : 0;
    });
    if (w.sums[0] == 0) return false;
    fence();
    const bool single = net.count == 1;
    const double* from = (single ? factors.deltas : factors.units) + agent * net.units;
    block.each(net.layers[0].outputs, [&](std::uint32_t o) {
      (single ? w.deltas : w.units)[o] = load_fresh(from + o);
      if (o == 0) done[agent] = 0;
    });
    return true;
  }

  // scores_to_delta of layers.cpp, side by side.
  PORTER_DEVICE void scores_to_deltas(const Block& block, std::size_t agent, const Work& w,
                                      float label) const {
    const auto& last = net.layers[net.count - 1];
    double* const scores = w.deltas + last.level;
    block.each(last.outputs, [&](std::uint32_t o) {
      double top = scores[0];
      PORTER_ROLLED
      for (std::uint32_t p = 1; p < last.outputs; ++p) top = top < scores[p] ? scores[p] : top;
      w.sums[o] = exp_of(scores[o] - top);
    });
    block.each(last.outputs, [&](std::uint32_t o) {
      double sum = 0;
      PORTER_ROLLED
      for (std::uint32_t p = 0; p < last.outputs; ++p) sum += w.sums[p];
      scores[o] = w.sums[o] / sum;
      if (o == static_cast<std::uint32_t>(label)) scores[o] -= 1;
      factors.deltas[agent * net.units + last.level + o] = scores[o];
    });
  }

  /// The deltas below the last layer.
  PORTER_DEVICE void backward(const Block& block, std::size_t agent, const Work& w) const {
    PORTER_ROLLED
    for (std::uint32_t l = net.count - 1; l > 0; --l) {
      const auto& layer = net.layers[l];
      const std::uint32_t below = net.layers[l - 1].level;
      const double* d = w.deltas + layer.level;
      block.each(layer.inputs, [&](std::uint32_t i) {
        double sum = 0;
        for (std::uint32_t o = 0; o < layer.outputs; ++o)
          sum += d[o] * double{w.x[layer.weights + o * layer.inputs + i]};
        w.deltas[below + i] = net.times_slope(w.units[below + i], sum);
        factors.deltas[agent * net.units + below + i] = w.deltas[below + i];
      });
    }
  }

  /// |gradient|^2 = sum of |delta|^2 (|a|^2 + 1) over the layers, from the last to the first.
  PORTER_DEVICE double square(const Block& block, const Work& w, double row_sq) const {
    block.each(2 * kSumLanes * net.count, [&](std::uint32_t item) {
      const auto& layer = net.layers[item / (2 * kSumLanes)];
      const bool of_inputs = item / kSumLanes % 2 != 0;
      if (of_inputs && layer.level == 0) return;
      const double* v = of_inputs ? w.units + (layer.level - layer.inputs) : w.deltas + layer.level;
      double sum = 0;
      PORTER_ROLLED
      for (std::uint32_t i = item % kSumLanes; i < (of_inputs ? layer.inputs : layer.outputs);
           i += kSumLanes)
        sum += v[i] * v[i];
      w.sums[item] = sum;
    });
    double norm_sq = 0;
    PORTER_ROLLED
    for (std::uint32_t l = net.count; l > 0; --l) {
      double input_sq = net.layers[l - 1].biased ? 1 : 0;
      const double* s = w.sums + 2 * kSumLanes * (l - 1);
      input_sq += l == 1 ? row_sq : added(s + kSumLanes);
      norm_sq += added(s) * input_sq;
    }
    return norm_sq;
  }
  PORTER_DEVICE double regularised_square(const Block& block, std::size_t agent) const {
    return ordered_sum(block, block.memory_as<double>(), kSumLanes, dim, [&](std::uint32_t j) {
      const double g = at(agent, j);
      return g * g;
    });
  }
};

}  // namespace porter::cuda
