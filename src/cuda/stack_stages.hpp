// SPDX-License-Identifier: Apache-2.0
// What kernels know of a stack of layers over images, and where the numbers of a sample are.
#pragma once

#include "block.hpp"
#include "model/layer_stack.hpp"

/// In front of a loop whose loads shall be on their way some turns ahead.
#if defined(__CUDA_ARCH__)
#define PORTER_UNROLLED_SOME _Pragma("unroll 8")
#else
#define PORTER_UNROLLED_SOME
#endif

namespace porter::cuda {

/// The maps between two layers, among the numbers of a sample.
struct DeviceMaps {
  std::uint32_t height, width, channels;
  std::uint32_t padding;  ///< zeros around them
  std::uint32_t first;    ///< where they begin, zeros and all
  std::uint32_t deltas;   ///< where the derivatives by them begin, which have no zeros around

  PORTER_DEVICE std::uint32_t positions() const { return height * width; }
  PORTER_DEVICE std::uint32_t size() const { return positions() * channels; }
  PORTER_DEVICE std::uint32_t row() const { return (width + 2 * padding) * channels; }
  PORTER_DEVICE std::uint32_t padded_size() const { return (height + 2 * padding) * row(); }
  /// The place of number k.
  PORTER_DEVICE std::uint32_t at(std::uint32_t k) const {
    if (padding == 0) return first + k;
    const std::uint32_t y = k / (width * channels);
    return first + (y + padding) * row() + padding * channels + (k - y * width * channels);
  }
};

/// A Stage of the library as kernels see it.
struct DeviceStage {
  StageKind kind;
  DeviceMaps in, out;
  std::uint32_t kernel, stride, groups;
  std::uint32_t units, inputs;  ///< and inputs of a unit
  bool has_parameters;
  bool activates, activates_below;  ///< behind it; behind the one that it takes its inputs from
  Activation activation, activation_below;
  std::uint32_t weights, biases;  ///< inside x
  std::uint32_t transposed;       ///< inputs x units, behind x
  std::uint32_t apart;            ///< among what is kept apart of a sample's gradient
  std::uint32_t room;             ///< of a group norm: 4 x channels, among the numbers of a sample

  PORTER_DEVICE std::uint32_t parameters() const { return units * (inputs + 1); }
  PORTER_DEVICE bool is_dense() const { return kind == StageKind::dense; }
  PORTER_DEVICE bool has_weights() const { return is_dense() || kind == StageKind::convolution; }
  PORTER_DEVICE std::uint32_t transposed_end() const {
    return transposed + (has_weights() ? units * inputs : 0);
  }
  /// The corner of the window at a position, of padded maps.
  PORTER_DEVICE std::uint32_t corner(std::uint32_t position) const {
    return in.first + position / out.width * stride * in.row() +
           position % out.width * stride * in.channels;
  }
  /// Where input i of a unit lies from the corner on.
  PORTER_DEVICE std::uint32_t offset(std::uint32_t i) const {
    const std::uint32_t run = kernel * in.channels, y = i / run;
    return y * in.row() + (i - y * run);
  }

  /// The windows along one side that a number is in: from first up to last.
  struct Range {
    std::uint32_t first, last;
  };
  PORTER_DEVICE Range windows_of(std::uint32_t place, std::uint32_t most) const {
    const std::uint32_t last = place / stride + 1;
    return {place < kernel ? 0 : (place - kernel) / stride + 1, last < most ? last : most};
  }
};

struct DeviceStages {
  const DeviceStage* list;
  std::uint32_t count;
  std::uint32_t first;  ///< with parameters; nothing below it needs deltas
};

/// What the samples of all agents have between the layers: agent x chunk each.
template <class Work>
struct StackSamples {
  std::uint32_t chunk;  ///< samples of an agent that are there at once
  std::uint32_t begin;  ///< the first of them, of the batch
  std::size_t numbers_size, apart_size;
  Work* numbers;  ///< maps and deltas
  Work* apart;    ///< gradients that wait for their factors
  double* factors;
};

/// Block (agent, tile): x, and behind it the weights of each stage transposed.
template <class Work, class Real>
struct StackWeightsKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kTile = 512;

  DeviceStages stages;
  std::uint32_t dim, stride;
  const Real* X;
  Work* weights;
  std::uint32_t size;  ///< of an agent

  PORTER_DEVICE void operator()(const Block& block) const {
    const Real* x = X + std::size_t{block.x} * stride;
    Work* const to = weights + std::size_t{block.x} * size;
    const std::uint32_t first = block.y * kTile;
    block.each(size - first < kTile ? size - first : kTile, [&](std::uint32_t offset) {
      const std::uint32_t at = first + offset;
      to[at] = Work{x[at < dim ? at : source(at)]};
    });
  }

 private:
  PORTER_DEVICE std::uint32_t source(std::uint32_t at) const {
    std::uint32_t s = stages.first;
    PORTER_ROLLED
    while (at >= stages.list[s].transposed_end()) ++s;
    const DeviceStage& stage = stages.list[s];
    const std::uint32_t own = at - stage.transposed, i = own / stage.units;
    return stage.weights + (own - i * stage.units) * stage.inputs + i;
  }
};

}  // namespace porter::cuda
