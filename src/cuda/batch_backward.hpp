// SPDX-License-Identifier: Apache-2.0
// The gradients of batches of a perceptron behind the products of the first layer.
#pragma once

#include "batch_forward.hpp"

namespace porter::cuda {

/// Block (agent, group): kGroup samples from the first layer's products through the other layers
/// and back, clipped.
template <class Real>
struct BatchDeltasKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kGroup = 32;

  SampleRows rows;
  BatchInputs inputs;
  BatchUnits<Real> batch;
  Clipping clipping;
  Perceptron net;
  std::uint32_t dim, stride;
  const Real* X;
  bool at_hand;  ///< units, deltas and parameters, but for the first layer's weights, have room

  /// A factor of each sample, and partial sums of it.
  PORTER_DEVICE std::size_t sums() const {
    const std::size_t lanes = kSumLanes * (std::size_t{net.count} * 2 - 1);
    const std::size_t outputs = net.layers[net.count - 1].outputs;
    return kGroup * (1 + (lanes < outputs ? outputs : lanes));
  }
  PORTER_DEVICE std::uint32_t behind() const { return net.layers[0].biases; }
  std::size_t least_bytes() const { return sums() * sizeof(double); }
  std::size_t bytes() const {
    const std::size_t all = 2 * std::size_t{kGroup} * net.units + (dim - behind());
    return least_bytes() + (at_hand ? all * sizeof(Real) : 0);
  }

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t first = block.y * kGroup, drawn = rows.count(agent);
    if (first >= drawn) return;
    const std::uint32_t count = drawn - first < kGroup ? drawn - first : kGroup;
    const std::size_t sample = agent * rows.batch + first;
    const Real* const x = X + agent * stride;
    Real* const units = batch.units + sample * net.units;
    Real* const deltas = batch.deltas + sample * net.units;
    Work w{units, deltas, x, block.memory_as<double>(), batch.samples + sample, count};
    if (at_hand) {
      Real* const memory = block.memory_as<Real>(sums() * sizeof(double));
      w.units = memory;
      w.deltas = memory + count * net.units;
      Real* const parameters = memory + 2 * std::size_t{kGroup} * net.units;
      block.load(parameters, x + behind(), dim - behind());
      block.load(w.units, units, count * net.units);
      w.x = parameters - behind();
      block.each(0, [](std::uint32_t) {});
    }
    forward(block, w);
    backward(block, w);
    clip(block, w);
    write(block, w, agent, first);
    if (!at_hand) return;
    block.each(count * net.units, [&](std::uint32_t i) {
      units[i] = w.units[i];
      deltas[i] = w.deltas[i];
    });
  }

 private:
  struct Work {
    Real *units, *deltas;
    const Real* x;
    double* factors;
    BatchSample* samples;
    std::uint32_t count;
    PORTER_DEVICE double* sums() const { return factors + kGroup; }
  };

  PORTER_DEVICE void forward(const Block& block, const Work& w) const {
    PORTER_ROLLED
    for (std::uint32_t l = 0; l < net.count; ++l) {
      const auto& layer = net.layers[l];
      const bool last = l + 1 == net.count;
      block.each(kGroup * layer.outputs, [&](std::uint32_t item) {
        const std::uint32_t s = item % kGroup, o = item / kGroup;
        if (s >= w.count) return;
        Real z = l == 0 ? w.units[s * net.units + o] : product(w, l, s, o);
        if (layer.biased) z += w.x[layer.biases + o];
        (last ? w.deltas : w.units)[s * net.units + layer.level + o] = last ? z : net.activated(z);
      });
    }
    scores_to_deltas(block, w);
  }
  // scores_to_delta of layers.cpp, side by side: it is another sum in float than in double.
  PORTER_DEVICE void scores_to_deltas(const Block& block, const Work& w) const {
    const auto& last = net.layers[net.count - 1];
    block.each(kGroup * last.outputs, [&](std::uint32_t item) {
      const std::uint32_t s = item % kGroup, o = item / kGroup;
      if (s >= w.count) return;
      const Real* scores = w.deltas + s * net.units + last.level;
      Real top = scores[0];
      PORTER_ROLLED
      for (std::uint32_t p = 1; p < last.outputs; ++p) top = top < scores[p] ? scores[p] : top;
      w.sums()[o * kGroup + s] = double{exp_of(scores[o] - top)};
    });
    block.each(kGroup * last.outputs, [&](std::uint32_t item) {
      const std::uint32_t s = item % kGroup, o = item / kGroup;
      if (s >= w.count) return;
      const double* powers = w.sums() + s;
      double sum = 0;
      PORTER_ROLLED
      for (std::uint32_t p = 0; p < last.outputs; ++p) sum += powers[p * kGroup];
      const auto label = static_cast<std::uint32_t>(rows.labels[w.samples[s].row]);
      const double power = powers[o * kGroup];
      double delta = power / sum;
      if (o == label) delta = sizeof(Real) < sizeof(double) ? -(sum - power) / sum : delta - 1;
      w.deltas[s * net.units + last.level + o] = static_cast<Real>(delta);
    });
  }
  PORTER_DEVICE Real product(const Work& w, std::uint32_t l, std::uint32_t s,
                             std::uint32_t o) const {
    const auto& layer = net.layers[l];
    const Real* a = w.units + s * net.units + net.layers[l - 1].level;
    const Real* row = w.x + layer.weights + std::size_t{o} * layer.inputs;
    Real z = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
    for (std::uint32_t i = 0; i < layer.inputs; ++i) z += a[i] * row[i];
    return z;
  }

  PORTER_DEVICE void backward(const Block& block, const Work& w) const {
    PORTER_ROLLED
    for (std::uint32_t l = net.count; l > 1; --l) {
      const auto& layer = net.layers[l - 1];
      const auto& below = net.layers[l - 2];
      block.each(kGroup * layer.inputs, [&](std::uint32_t item) {
        const std::uint32_t s = item % kGroup, i = item / kGroup;
        if (s >= w.count) return;
        Real sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 5
#endif
        for (std::uint32_t o = 0; o < layer.outputs; ++o)
          sum += w.deltas[s * net.units + layer.level + o] *
                 w.x[layer.weights + std::size_t{o} * layer.inputs + i];
        w.deltas[s * net.units + below.level + i] =
            net.times_slope(w.units[s * net.units + below.level + i], sum);
      });
    }
  }

  /// Vector v of a sample: deltas of layer v / 2, or, where v is odd, the activations behind it.
  PORTER_DEVICE const Real* vector(const Work& w, std::uint32_t s, std::uint32_t v) const {
    return (v % 2 == 0 ? w.deltas : w.units) + s * net.units + net.layers[v / 2].level;
  }
  PORTER_DEVICE void clip(const Block& block, const Work& w) const {
    const std::uint32_t vectors = 2 * net.count - 1;
    if (clipping.by_sample)
      block.each(kGroup * kSumLanes * vectors, [&](std::uint32_t item) {
        const std::uint32_t s = item % kGroup, lane = item / kGroup % kSumLanes,
                            v = item / kGroup / kSumLanes;
        if (s >= w.count) return;
        const Real* x = vector(w, s, v);
        double sum = 0;
        PORTER_ROLLED
        for (std::uint32_t i = lane; i < net.layers[v / 2].outputs; i += kSumLanes)
          sum += double{x[i]} * double{x[i]};
        w.sums()[(s * vectors + v) * kSumLanes + lane] = sum;
      });
    block.each(w.count, [&](std::uint32_t s) {
      w.factors[s] = clipping.by_sample ? clipping.factor(std::sqrt(squared_norm(w, s))) : 1;
      if (w.factors[s] == 0) w.samples[s].kind = BatchSample::left_out;
    });
    block.each(w.count * net.units, [&](std::uint32_t item) {
      const double factor = w.factors[item / net.units];
      if (factor == 1) return;
      if (factor == 0) w.units[item] = 0;
      w.deltas[item] = factor == 0 ? Real{0} : w.deltas[item] * static_cast<Real>(factor);
    });
  }
  PORTER_DEVICE double squared_norm(const Work& w, std::uint32_t s) const {
    const double* sums = w.sums() + std::size_t{s} * (2 * net.count - 1) * kSumLanes;
    double input_sq = inputs.squares[w.samples[s].row], sum = 0;
    PORTER_ROLLED
    for (std::uint32_t l = 0; l < net.count; ++l) {
      if (l > 0) input_sq = added(sums + (2 * l - 1) * kSumLanes);
      sum += added(sums + 2 * l * kSumLanes) * (input_sq + (net.layers[l].biased ? 1 : 0));
    }
    return sum;
  }
  PORTER_DEVICE static double added(const double* s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }

  // The deltas of the first layer, as BatchSumKernel reads them.
  PORTER_DEVICE void write(const Block& block, const Work& w, std::size_t agent,
                           std::uint32_t first) const {
    constexpr std::uint32_t kOutputs = kSumOutputs<Real>;
    const auto& layer = net.layers[0];
    const std::uint32_t groups = groups_of(layer, kOutputs);
    block.each(kGroup * groups * kOutputs, [&](std::uint32_t item) {
      const std::uint32_t in_group = item % kOutputs, s = item / kOutputs % kGroup,
                          group = item / kOutputs / kGroup, o = group * kOutputs + in_group;
      if (s >= w.count) return;
      batch.first[((agent * groups + group) * rows.batch + first + s) * kOutputs + in_group] =
          o < layer.outputs ? w.deltas[s * net.units + o] : Real{0};
    });
  }
};

/// Block (agent, y): the sum of the batch's gradients, BatchPass::add_gradient and finish. The last
/// blocks have columns of the first layer's weights, a thread each, and a group of outputs; the
/// first ones, which have little to do and wait much, all other entries.
template <class Real>
struct BatchSumKernel {
  static constexpr int kThreads = 64;
  static constexpr std::uint32_t kOutputs = kSumOutputs<Real>;
  static constexpr std::uint32_t kSamples = 64;  ///< at hand
  static_assert(kOutputs <= kThreads);

  SampleRows rows;
  BatchUnits<Real> batch;
  Perceptron net;
  std::uint32_t dim, stride;
  Real* G;

  PORTER_DEVICE std::uint32_t tiles() const {
    return (net.layers[0].inputs + kThreads - 1) / kThreads;
  }
  PORTER_DEVICE std::uint32_t others() const { return dim - net.layers[0].biases; }
  std::uint32_t height() const {
    return tiles() * groups_of(net.layers[0], kOutputs) + (others() + kThreads - 1) / kThreads;
  }
  static constexpr std::size_t kDeltaBytes = 2 * kSamples * kOutputs * sizeof(Real);
  static constexpr std::size_t kBytes =
      kDeltaBytes + kOutputs * sizeof(Real) + kSamples * sizeof(BatchSample) + 16;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t begin = (others() + kThreads - 1) / kThreads;
    if (block.y >= begin)
      first_layer(block, (block.y - begin) % tiles(), (block.y - begin) / tiles());
    else
      block.each(kThreads, [&](std::uint32_t t) {
        const std::uint32_t entry = block.y * kThreads + t;
        if (entry >= others()) return;
        const std::uint32_t j = net.layers[0].biases + entry;
        G[std::size_t{block.x} * stride + j] = other_entry(block.x, j, net.layer_of(j));
      });
  }

 private:
  PORTER_DEVICE Real other_entry(std::size_t agent, std::uint32_t j,
                                 const DenseLayer& layer) const {
    const std::size_t first = agent * rows.batch * net.units;
    const std::uint32_t drawn = rows.count(agent);
    const Real* deltas = batch.deltas + first + layer.level;
    Real sum = 0;
    if (layer.biased && j >= layer.biases) {
#if defined(__CUDA_ARCH__)
#pragma unroll 16
#endif
      for (std::uint32_t s = 0; s < drawn; ++s)
        sum += deltas[std::size_t{s} * net.units + (j - layer.biases)];
      return sum;
    }
    const std::uint32_t o = (j - layer.weights) / layer.inputs;
    const std::uint32_t i = j - layer.weights - o * layer.inputs;
    const Real* below = batch.units + first + (layer.level - layer.inputs) + i;
#if defined(__CUDA_ARCH__)
#pragma unroll 16
#endif
    for (std::uint32_t s = 0; s < drawn; ++s)
      sum += deltas[std::size_t{s} * net.units + o] * below[std::size_t{s} * net.units];
    return sum;
  }

  struct Sums {
    Real at[kOutputs];
  };
  /// Deltas that are read at once.
  static constexpr std::uint32_t kSeveral = 16 / sizeof(Real);
  struct alignas(16) Several {
    Real at[kSeveral];
  };
  struct Work {
    Real *deltas, *backgrounds;
    BatchSample* samples;
    std::uint32_t* kinds;  // that are there, a bit each
    PerThread<Sums, kThreads> sums;
    PerThread<Real, kThreads> background;  // of one output
  };

  // Rows whose product is dense, then the others' background and what is off it. A sum that begins
  // with 0 is never -0, so zeros may be added or not.
  PORTER_DEVICE void first_layer(const Block& block, std::uint32_t tile,
                                 std::uint32_t group) const {
    const auto& layer = net.layers[0];
    Work w{block.memory_as<Real>(),
           block.memory_as<Real>(kDeltaBytes),
           block.memory_as<BatchSample>(kDeltaBytes + kOutputs * sizeof(Real)),
           block.memory_as<std::uint32_t>(kBytes - 16),
           {},
           {}};
    find_kinds(block, w);
    const bool dense = (*w.kinds >> BatchSample::dense & 1) != 0;
    if (dense) add_samples(block, w, tile, group, BatchSample::dense);
    const auto column = [&](std::uint32_t t) { return tile * kThreads + t; };
    const auto entry = [&](std::uint32_t o, std::uint32_t t) -> Real& {
      return G[std::size_t{block.x} * stride + layer.weights +
               std::size_t{group * kOutputs + o} * layer.inputs + column(t)];
    };
    const std::uint32_t left = layer.outputs - group * kOutputs;
    const std::uint32_t outputs = left < kOutputs ? left : kOutputs;
    block.alone(kThreads, [&](std::uint32_t t) {
      if (column(t) >= layer.inputs || !dense) return;
      PORTER_UNROLLED
      for (std::uint32_t o = 0; o < kOutputs; ++o)
        if (o < outputs) entry(o, t) = w.sums[t].at[o];
    });
    add_samples(block, w, tile, group, BatchSample::sparse);
    block.each(kThreads, [&](std::uint32_t t) {
      if (t < kOutputs) w.backgrounds[t] = w.background[t];
    });
    block.alone(kThreads, [&](std::uint32_t t) {
      if (column(t) >= layer.inputs) return;
      PORTER_UNROLLED
      for (std::uint32_t o = 0; o < kOutputs; ++o)
        if (o < outputs)
          entry(o, t) = (dense ? entry(o, t) : Real{0}) + (w.backgrounds[o] + w.sums[t].at[o]);
    });
  }
  PORTER_DEVICE void find_kinds(const Block& block, const Work& w) const {
    block.once([&] { *w.kinds = 0; });
    block.each(rows.count(block.x), [&](std::uint32_t s) {
      atomic_or(w.kinds, 1U << batch.samples[std::size_t{block.x} * rows.batch + s].kind);
    });
  }

  /// Those of one kind, in their order; the deltas of the next ones are on their way.
  PORTER_DEVICE void add_samples(const Block& block, Work& w, std::uint32_t tile,
                                 std::uint32_t group, BatchSample::Kind kind) const {
    const std::uint32_t groups = groups_of(net.layers[0], kOutputs);
    const Real* deltas =
        batch.first + (std::size_t{block.x} * groups + group) * rows.batch * kOutputs;
    const BatchSample* samples = batch.samples + std::size_t{block.x} * rows.batch;
    const std::uint32_t drawn = rows.count(block.x);
    const auto fetch = [&](std::uint32_t begin) {
      if (begin < drawn) {
        const std::uint32_t left = drawn - begin, count = left < kSamples ? left : kSamples;
        block.copy(w.deltas + begin / kSamples % 2 * kSamples * kOutputs,
                   deltas + std::size_t{begin} * kOutputs, count * kOutputs * sizeof(Real));
      }
      block.commit();
    };
    block.alone(kThreads, [&](std::uint32_t t) {
      w.sums[t] = Sums{};
      w.background[t] = 0;
    });
    fetch(0);
    PORTER_ROLLED
    for (std::uint32_t begin = 0; begin < drawn; begin += kSamples) {
      fetch(begin + kSamples);
      const std::uint32_t left = drawn - begin, count = left < kSamples ? left : kSamples;
      block.alone(count, [&](std::uint32_t s) { w.samples[s] = samples[begin + s]; });
      block.template arrive<1>();
      const Real* at_hand = w.deltas + begin / kSamples % 2 * kSamples * kOutputs;
      block.each(kThreads, [&](std::uint32_t t) {
        if (kind == BatchSample::sparse && t < kOutputs)
          add_backgrounds(w.samples, count, at_hand + t, w.background[t]);
        const std::uint32_t i = tile * kThreads + t;
        if (i < net.layers[0].inputs) add_column(w.samples, count, at_hand, kind, i, w.sums[t]);
      });
    }
  }
  PORTER_DEVICE static void add_backgrounds(const BatchSample* samples, std::uint32_t count,
                                            const Real* deltas, Real& sum) {
    PORTER_ROLLED
    for (std::uint32_t s = 0; s < count; ++s)
      if (samples[s].kind == BatchSample::sparse)
        sum += Real{samples[s].background} * deltas[s * kOutputs];
  }
  /// Entries of a column that are on their way while others are used.
  static constexpr std::uint32_t kAtOnce = 8;
  struct Values {
    float at[kAtOnce];
  };
  PORTER_DEVICE Values values_of(const BatchSample* samples, std::uint32_t begin,
                                 std::uint32_t count, std::uint32_t i) const {
    Values values{};
    PORTER_UNROLLED
    for (std::uint32_t n = 0; n < kAtOnce; ++n)
      if (begin + n < count) values.at[n] = rows.values[samples[begin + n].row * rows.features + i];
    return values;
  }
  PORTER_DEVICE void add_column(const BatchSample* samples, std::uint32_t count, const Real* deltas,
                                BatchSample::Kind kind, std::uint32_t i, Sums& sums) const {
    Sums own = sums;
    Values values = values_of(samples, 0, count, i);
    PORTER_ROLLED
    for (std::uint32_t begin = 0; begin < count; begin += kAtOnce) {
      const Values next = values_of(samples, begin + kAtOnce, count, i);
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kAtOnce; ++n) {
        if (begin + n >= count || samples[begin + n].kind != kind) continue;
        const float f = values.at[n], background = samples[begin + n].background;
        const bool sparse = kind == BatchSample::sparse;
        if (sparse && f == background) continue;
        const Real value = sparse ? Real{f} - Real{background} : Real{f};
        const auto* d = reinterpret_cast<const Several*>(deltas + (begin + n) * kOutputs);
        PORTER_UNROLLED
        for (std::uint32_t o = 0; o < kOutputs; o += kSeveral) {
          const Several some_deltas = d[o / kSeveral];
          PORTER_UNROLLED
          for (std::uint32_t k = 0; k < kSeveral; ++k) own.at[o + k] += value * some_deltas.at[k];
        }
      }
      values = next;
    }
    sums = own;
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
