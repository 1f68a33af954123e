// SPDX-License-Identifier: Apache-2.0
// The gradients of batches of a perceptron, as BatchPass of the library computes them, every sum in
// its order: the products of the first layer. batch_backward.hpp has the rest.
#pragma once

#include "perceptron.hpp"

namespace porter::cuda {

/// An entry of a row off its background.
struct RowEntry {
  std::uint32_t column;
  float value;
};
/// What batches are made of that does not change: BatchPass and Inputs look at the data so.
struct BatchInputs {
  const std::uint32_t* unequal;  ///< of each row, the entries off its background
  const float* background;       ///< of each row
  const double* squares;         ///< |row|^2
  const RowEntry* entries;       ///< of all rows, those off their background
  const std::uint64_t* starts;   ///< of the entries of each row
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
  std::uint64_t entries;  ///< off its background, the first among those of all rows
  std::uint32_t size;     ///< how many
};

/// Outputs of a first layer that go together, in groups of this many.
template <class Real>
inline constexpr std::uint32_t kGroupOutputs = 256 / sizeof(Real);

/// The same where their gradients are summed: the registers of a thread have room for so many.
template <class Real>
inline constexpr std::uint32_t kSumOutputs = 256 / sizeof(Real);

/// Activations and deltas of all samples of a batch, agent x batch x units each.
template <class Real>
struct BatchUnits {
  Real *units, *deltas;
  Real* column_sums;     ///< agent x outputs of the first layer
  Real* first;           ///< its deltas: agent x group of outputs x batch x kSumOutputs
  BatchSample* samples;  ///< agent x batch
};
inline constexpr std::uint32_t kBlockRows = 128;  ///< kMaxRows of BatchPass: part of the format

PORTER_DEVICE inline std::uint32_t groups_of(const DenseLayer& layer, std::uint32_t size) {
  return (layer.outputs + size - 1) / size;
}

/// What Weights and Inputs of the library decide before the products. Block (agent, 0): the kinds
/// of the samples; block (agent, 1 + y): sums of rows of W, a warp each.
template <class Real>
struct BatchBeginKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kWarps = kThreads / Warp::kLanes;
  static constexpr std::uint32_t kPiece = 256;  // of a row, at hand

  SampleRows rows;
  bool sparse;
  BatchInputs inputs;
  BatchUnits<Real> batch;
  DenseLayer first;
  std::uint32_t stride;
  const Real* X;

  std::uint32_t height() const { return 1 + (first.outputs + kWarps - 1) / kWarps; }
  std::size_t bytes() const {
    const std::size_t counts = (std::size_t{room()} + blocks()) * sizeof(std::uint32_t);
    const std::size_t pieces = std::size_t{kWarps} * kPiece * sizeof(Real);
    return counts < pieces ? pieces : counts;
  }

  PORTER_DEVICE void operator()(const Block& block) const {
    if (block.y == 0)
      find_kinds(block);
    else
      block.warps(kThreads, [&](const Warp& warp) {
        const std::uint32_t o = (block.y - 1) * kWarps + warp.index;
        if (o < first.outputs) add_row(block, warp, o);
      });
  }

 private:
  /// For the counts of a batch: whole reads of four, so that one does not reach what follows.
  PORTER_DEVICE std::uint32_t room() const { return (rows.batch + 3) / 4 * 4; }
  PORTER_DEVICE std::uint32_t blocks() const { return (rows.batch + kBlockRows - 1) / kBlockRows; }

  PORTER_DEVICE void find_kinds(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t drawn = rows.count(agent);
    auto* const counts = block.memory_as<std::uint32_t>();
    std::uint32_t* const dense = counts + room();
    block.each(drawn, [&](std::uint32_t s) { counts[s] = inputs.unequal[rows.row(agent, s)]; });
    block.each((drawn + kBlockRows - 1) / kBlockRows, [&](std::uint32_t b) {
      const std::uint32_t begin = b * kBlockRows;
      const std::uint32_t end = begin + kBlockRows < drawn ? begin + kBlockRows : drawn;
      std::uint64_t entries = 0;
      for (std::uint32_t s = begin; s < end; ++s) entries += counts[s];
      const auto all = static_cast<double>(std::uint64_t{end - begin} * rows.features);
      dense[b] = !sparse && static_cast<double>(entries) > 0.4 * all ? 1 : 0;  // prefers_dense
    });
    block.each(drawn, [&](std::uint32_t s) {
      const std::size_t row = rows.row(agent, s);
      batch.samples[agent * rows.batch + s] = {
          row, inputs.background[row],
          dense[s / kBlockRows] != 0 ? BatchSample::dense : BatchSample::sparse, inputs.starts[row],
          counts[s]};
    });
  }

  // One running sum.
  PORTER_DEVICE void add_row(const Block& block, const Warp& warp, std::uint32_t o) const {
    Real* const piece = block.memory_as<Real>() + warp.index * kPiece;
    const Real* w =
        X + std::size_t{block.x} * stride + first.weights + std::size_t{o} * first.inputs;
    PerLane<Real> sum;
    PORTER_ROLLED
    for (std::uint32_t begin = 0; begin < first.inputs; begin += kPiece) {
      const std::uint32_t size = first.inputs - begin < kPiece ? first.inputs - begin : kPiece;
      warp.each([&](std::uint32_t lane) {
        for (std::uint32_t i = lane; i < size; i += Warp::kLanes) piece[i] = w[begin + i];
      });
      // All lanes do the same, which takes no longer than one of them.
      warp.each([&](std::uint32_t lane) {
        Real s = sum[lane];
        for (std::uint32_t i = 0; i < size; ++i) s += piece[i];
        sum[lane] = s;
      });
    }
    warp.each([&](std::uint32_t lane) {
      if (lane == 0) batch.column_sums[std::size_t{block.x} * first.outputs + o] = sum[0];
    });
  }
};

/// Block (agent, part, group of outputs, as y = part * groups + group): products of samples with
/// the first layer's weights, which lie transposed in the block's memory, as many as there is room
/// for at a time. A warp a sample: it goes through the entries off the background, and every lane
/// has its outputs.
template <class Real>
struct BatchForwardKernel {
  static constexpr int kThreads = 1024;
  static constexpr std::uint32_t kWarps = kThreads / Warp::kLanes;
  static constexpr std::uint32_t kOutputs = kGroupOutputs<Real>, kOwn = kOutputs / Warp::kLanes;
  /// A row in memory: so that few lanes meet where columns become rows.
  static constexpr std::uint32_t kRow = kOutputs + kOwn;

  SampleRows rows;
  BatchInputs inputs;
  BatchUnits<Real> batch;
  DenseLayer first;
  std::uint32_t units, stride;
  const Real* X;
  std::uint32_t parts, at_once;  ///< of the samples; inputs in memory

  struct alignas(2 * sizeof(Real)) Entry {
    std::uint32_t at;  ///< of its weights in memory
    Real value;
  };
  static constexpr std::uint32_t kNowhere = ~0U;
  static constexpr std::size_t kEntryBytes = kThreads * sizeof(Entry);
  static constexpr std::size_t kRowBytes = kRow * sizeof(Real);
  std::size_t bytes() const { return kEntryBytes + at_once * kRowBytes; }

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t groups = groups_of(first, kOutputs);
    const std::uint32_t group = block.y % groups, part = block.y / groups;
    const std::uint32_t drawn = rows.count(block.x);
    const std::uint32_t each = (drawn + parts - 1) / parts, begin = part * each;
    const std::uint32_t end = begin + each < drawn ? begin + each : drawn;
    if (begin >= end) return;
    Real* const weights = block.memory_as<Real>(kEntryBytes);
    PORTER_ROLLED
    for (std::uint32_t from = 0; from < first.inputs; from += at_once) {
      const std::uint32_t size = first.inputs - from < at_once ? first.inputs - from : at_once;
      load_weights(block, weights, group * kOutputs, from, size);
      block.warps(kThreads, [&](const Warp& warp) {
        PORTER_ROLLED
        for (std::uint32_t s = begin + warp.index; s < end; s += kWarps)
          multiply(block, warp, weights, s, group * kOutputs, from, size);
      });
      block.each(0, [](std::uint32_t) {});
    }
  }

 private:
  PORTER_DEVICE void load_weights(const Block& block, Real* weights, std::uint32_t from_output,
                                  std::uint32_t from, std::uint32_t size) const {
    const Real* W = X + std::size_t{block.x} * stride + first.weights;
    block.warps(kThreads, [&](const Warp& warp) {
      PORTER_ROLLED
      for (std::uint32_t o = warp.index; o < kOutputs; o += kWarps) {
        const bool there = from_output + o < first.outputs;
        const Real* w = W + std::size_t{from_output + o} * first.inputs + from;
        warp.each([&](std::uint32_t lane) {
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
          for (std::uint32_t i = lane; i < size; i += Warp::kLanes)
            weights[i * kRow + o] = there ? w[i] : Real{0};
        });
      }
    });
    block.each(0, [](std::uint32_t) {});
  }

  struct alignas(kOwn * sizeof(Real)) Sums {
    Real at[kOwn];
  };
  struct Source {
    bool dense;
    std::uint32_t size;
    float background;
    const float* all;         ///< features, where dense
    const RowEntry* entries;  ///< else
  };
  /// Entry i, if its column is among `size` behind `from`.
  PORTER_DEVICE static Entry entry_of(const Source& source, std::uint32_t i, std::uint32_t from,
                                      std::uint32_t size) {
    if (i >= source.size) return {kNowhere, 0};
    if (source.dense) return {at(i, from, size), Real{source.all[i]}};
    const RowEntry entry = source.entries[i];
    return {at(entry.column, from, size), Real{entry.value} - Real{source.background}};
  }
  PORTER_DEVICE static std::uint32_t at(std::uint32_t column, std::uint32_t from,
                                        std::uint32_t size) {
    return column >= from && column - from < size ? (column - from) * kRow : kNowhere;
  }

  PORTER_DEVICE void multiply(const Block& block, const Warp& warp, const Real* weights,
                              std::uint32_t s, std::uint32_t from_output, std::uint32_t from,
                              std::uint32_t size) const {
    const std::size_t number = std::size_t{block.x} * rows.batch + s;
    const BatchSample sample = batch.samples[number];
    const bool dense = sample.kind == BatchSample::dense;
    const Source source = {dense, dense ? first.inputs : sample.size, sample.background,
                           rows.values + sample.row * rows.features,
                           inputs.entries + sample.entries};
    Entry* const entries = block.memory_as<Entry>() + warp.index * Warp::kLanes;
    Real* const to = batch.units + number * units + from_output;
    PerLane<Sums> sums;
    PerLane<Entry> next;
    warp.each([&](std::uint32_t lane) {
      next[lane] = entry_of(source, lane, from, size);
      PORTER_UNROLLED
      for (std::uint32_t k = 0; k < kOwn; ++k) {
        const std::uint32_t o = lane * kOwn + k;
        if (from_output + o >= first.outputs)
          sums[lane].at[k] = 0;
        else if (from > 0)
          sums[lane].at[k] = to[o];
        else
          sums[lane].at[k] = start(source, std::size_t{block.x} * first.outputs + from_output + o);
      }
    });
    PORTER_ROLLED
    for (std::uint32_t i = 0; i < source.size; i += Warp::kLanes) {
      warp.each([&](std::uint32_t lane) {
        entries[lane] = next[lane];
        next[lane] = entry_of(source, i + Warp::kLanes + lane, from, size);
      });
      const bool whole = at_once >= first.inputs;
      const std::uint32_t left = source.size - i;
      const std::uint32_t count = left < Warp::kLanes ? left : Warp::kLanes;
      warp.each([&](std::uint32_t lane) {
        auto own = sums[lane];
        const Real* w = weights + lane * kOwn;
        const auto add = [&](const Entry& entry) {
          const auto there = *reinterpret_cast<const Sums*>(w + entry.at);
          PORTER_UNROLLED
          for (std::uint32_t k = 0; k < kOwn; ++k) own.at[k] += entry.value * there.at[k];
        };
        if (whole && count == Warp::kLanes) {
#if defined(__CUDA_ARCH__)
#pragma unroll 16
#endif
          for (std::uint32_t e = 0; e < Warp::kLanes; ++e) add(entries[e]);
        } else {
          PORTER_ROLLED
          for (std::uint32_t e = 0; e < count; ++e)
            if (entries[e].at != kNowhere) add(entries[e]);
        }
        sums[lane] = own;
      });
    }
    warp.each([&](std::uint32_t lane) {
      PORTER_UNROLLED
      for (std::uint32_t k = 0; k < kOwn; ++k)
        if (from_output + lane * kOwn + k < first.outputs) to[lane * kOwn + k] = sums[lane].at[k];
    });
  }
  PORTER_DEVICE Real start(const Source& source, std::size_t output) const {
    return source.dense ? Real{0} : Real{source.background} * batch.column_sums[output];
  }
};

}  // namespace porter::cuda
