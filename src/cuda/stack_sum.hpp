// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sample_rows.hpp"
#include "stack_stages.hpp"

namespace porter::cuda {

/// Block (agent, tile): adds the gradients of a chunk to those before it.
template <class Work>
struct StackSumKernel {
  static constexpr int kThreads = 64;
  static constexpr std::uint32_t kTile = 64;

  SampleRows rows;
  DeviceStages stages;
  bool filters_apart;  ///< gradients of convolutions are there, sample by sample
  StackSamples<Work> samples;
  std::uint32_t dim, stride;
  Work* G;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t first = block.y * kTile, drawn = rows.count(agent);
    const std::uint32_t left = drawn > samples.begin ? drawn - samples.begin : 0;
    const std::uint32_t count = left < samples.chunk ? left : samples.chunk;
    block.each(dim - first < kTile ? dim - first : kTile, [&](std::uint32_t offset) {
      const std::uint32_t j = first + offset;
      Work& g = G[agent * stride + j];
      g = added(agent * samples.chunk, count, j, samples.begin == 0 ? Work{0} : g);
    });
  }

 private:
  // A sum that begins with 0 is never -0, so zeros may be added or not.
  PORTER_DEVICE Work added(std::size_t slot, std::uint32_t count, std::uint32_t j, Work sum) const {
    std::uint32_t s = stages.first;
    PORTER_ROLLED
    while (!stages.list[s].has_parameters ||
           j >= stages.list[s].weights + stages.list[s].parameters())
      ++s;
    const DeviceStage stage = stages.list[s];
    const std::uint32_t own = j - stage.weights;
    const double* factors = samples.factors + slot;
    const Work* numbers = samples.numbers + slot * samples.numbers_size;
    const std::uint32_t all = stage.units * stage.inputs;
    const std::uint32_t o = own < all ? own / stage.inputs : own - all;
    const std::uint32_t i = own < all ? own - o * stage.inputs : 0;
    if (stage.is_dense()) {
      const Work* delta = numbers + stage.out.deltas + o;
      const Work* in = numbers + stage.in.first + i;
      PORTER_UNROLLED_SOME
      for (std::uint32_t n = 0; n < count; ++n) {
        const Work d = delta[n * samples.numbers_size];
        const Work next = sum + (own < all ? d * in[n * samples.numbers_size] : d);
        sum = factors[n] == 0 ? sum : next;  // what is left out may be NaN
      }
    } else if (stage.kind == StageKind::group_norm || filters_apart) {
      const Work* apart = samples.apart + slot * samples.apart_size + stage.apart + own;
      PORTER_UNROLLED_SOME
      for (std::uint32_t n = 0; n < count; ++n) {
        const Work next = sum + static_cast<Work>(factors[n]) * apart[n * samples.apart_size];
        sum = factors[n] == 0 ? sum : next;
      }
    } else {
      for (std::uint32_t n = 0; n < count; ++n, numbers += samples.numbers_size)
        sum = with_windows(stage, numbers, o, i, own < all, sum);
    }
    return sum;
  }
  PORTER_DEVICE static Work with_windows(const DeviceStage& stage, const Work* numbers,
                                         std::uint32_t o, std::uint32_t i, bool is_weight,
                                         Work sum) {
    const Work* delta = numbers + stage.out.deltas + o;
    const Work* taken = numbers + stage.in.first + stage.offset(i);
    const std::uint32_t down = stage.stride * stage.in.row(),
                        right = stage.stride * stage.in.channels;
    std::uint32_t column = 0;
    PORTER_UNROLLED_SOME
    for (std::uint32_t p = 0; p < stage.out.positions(); ++p) {
      const Work d = delta[p * stage.units];
      sum += is_weight ? d * *taken : d;
      taken += right;
      if (++column == stage.out.width) {
        column = 0;
        taken += down - stage.out.width * right;
      }
    }
    return sum;
  }
};

}  // namespace porter::cuda
