// SPDX-License-Identifier: Apache-2.0
// Samples through the layers of a stack and back, as StackPass of the library computes them: every
// sum in the same order, every rounding at the same place. A block has one sample. What the library
// writes side by side (windows, what is due to them) is found where it lies: maps that a
// convolution reads have zeros around them, and a number below gathers what the positions above owe
// it, in ascending order.
#pragma once

#include "activation.hpp"
#include "clipping.hpp"
#include "perceptron.hpp"
#include "sample_rows.hpp"
#include "stack_stages.hpp"

namespace porter::cuda {

/// Block agent * chunk + slot: a sample forwards and backwards; its factor; deltas of dense layers
/// with it, and the gradients of the others without it, where norms are wanted.
template <class Work, int threads>
struct StackPassKernel {
  static constexpr int kThreads = threads;
  static constexpr int kBlocks = 1024 / threads;
  static constexpr std::uint32_t kTogether = 4;  ///< sums of a thread
  static constexpr std::size_t kBytes = (2 * kSumLanes + 1) * sizeof(double);

  SampleRows rows;
  DeviceStages stages;
  Clipping clipping;
  const Work* weights;
  std::size_t weights_size;
  StackSamples<Work> samples;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t agent = block.x / samples.chunk;
    const std::uint32_t sample = samples.begin + block.x % samples.chunk;
    if (sample >= rows.count(agent)) return;
    const Work* x = weights + agent * weights_size;
    Work* const own = samples.numbers + block.x * samples.numbers_size;
    Work* const apart = samples.apart + block.x * samples.apart_size;
    const std::size_t row = rows.row(agent, sample);
    const DeviceMaps image = stages.list[0].in;
    block.each(rows.features, [&](std::uint32_t k) {
      own[image.at(k)] = Work{rows.values[row * rows.features + k]};
    });
    for (std::uint32_t s = 0; s < stages.count; ++s) forward(block, stages.list[s], x, own);
    const DeviceMaps scores = stages.list[stages.count - 1].out;
    block.once([&] { scores_to_delta(scores.channels, own + scores.first, rows.labels[row]); });
    for (std::uint32_t s = stages.count; s-- > stages.first;) {
      const DeviceStage stage = stages.list[s];
      if (stage.kind == StageKind::group_norm) add_norm_gradient(block, stage, own, apart);
      if (stage.kind == StageKind::convolution && clipping.by_sample)
        filter_gradient(block, stage, own, apart + stage.apart);
      if (s > stages.first) backward(block, stage, x, own);
    }
    const double factor = clipping.by_sample ? clip(block, own, apart) : 1;
    block.once([&] { samples.factors[block.x] = factor; });
  }

 private:
  PORTER_DEVICE void forward(const Block& block, const DeviceStage& stage, const Work* x,
                             Work* own) const {
    if (stage.kind == StageKind::dense) return multiply(block, stage, x, own);
    if (stage.kind == StageKind::convolution) return convolve(block, stage, x, own);
    if (stage.kind == StageKind::group_norm) return normalise(block, stage, x, own);
    const std::uint32_t channels = stage.in.channels;
    block.each(stage.out.size(), [&](std::uint32_t k) {
      const Work* cell = own + stage.corner(k / channels) + k % channels;
      const Work value =
          stage.kind == StageKind::max_pool ? largest(stage, cell).value : mean(stage, cell);
      store(stage, own, k, value);
    });
  }
  PORTER_DEVICE void backward(const Block& block, const DeviceStage& stage, const Work* x,
                              Work* own) const {
    if (stage.kind == StageKind::group_norm) return norm_derivatives(block, stage, x, own);
    block.each(stage.in.size(), [&](std::uint32_t k) {
      const Work sum = stage.is_dense()                       ? dense_due(stage, x, own, k)
                       : stage.kind == StageKind::convolution ? filters_due(stage, x, own, k)
                                                              : pool_due(stage, own, k);
      store_below(stage, own, k, sum);
    });
  }

  PORTER_DEVICE static void store(const DeviceStage& stage, Work* own, std::uint32_t k,
                                  Work value) {
    own[stage.out.at(k)] = stage.activates ? activated(stage.activation, value) : value;
  }
  PORTER_DEVICE static void store_below(const DeviceStage& stage, Work* own, std::uint32_t k,
                                        Work due) {
    if (stage.activates_below) due = times_slope(stage.activation_below, own[stage.in.at(k)], due);
    own[stage.in.deltas + k] = due;
  }

  PORTER_DEVICE static void multiply(const Block& block, const DeviceStage& stage, const Work* x,
                                     Work* own) {
    const Work* in = own + stage.in.first;
    block.each(stage.units, [&](std::uint32_t o) {
      const Work* w = x + stage.transposed + o;
      Work sum = x[stage.biases + o];
      PORTER_UNROLLED_SOME
      for (std::uint32_t i = 0; i < stage.inputs; ++i) sum += in[i] * w[i * stage.units];
      store(stage, own, o, sum);
    });
  }

  // A thread has one filter at some positions, which share its weights.
  PORTER_DEVICE static void convolve(const Block& block, const DeviceStage& stage, const Work* x,
                                     Work* own) {
    const std::uint32_t positions = stage.out.positions();
    const std::uint32_t run = stage.kernel * stage.in.channels, row = stage.in.row();
    block.each((positions + kTogether - 1) / kTogether * stage.units, [&](std::uint32_t item) {
      const std::uint32_t o = item % stage.units, first = item / stage.units * kTogether;
      const Work* from[kTogether];
      Work sums[kTogether];
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kTogether; ++n) {
        from[n] = own + stage.corner(first + n < positions ? first + n : positions - 1);
        sums[n] = x[stage.biases + o];
      }
      const Work* w = x + stage.transposed + o;
      PORTER_ROLLED
      for (std::uint32_t y = 0; y < stage.kernel; ++y) {
        PORTER_UNROLLED_SOME
        for (std::uint32_t e = 0; e < run; ++e) {
          const Work weight = w[e * stage.units];
          PORTER_UNROLLED
          for (std::uint32_t n = 0; n < kTogether; ++n) sums[n] += from[n][e] * weight;
        }
        w += run * stage.units;
        PORTER_UNROLLED
        for (std::uint32_t n = 0; n < kTogether; ++n) from[n] += row;
      }
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kTogether; ++n)
        if (first + n < positions) store(stage, own, (first + n) * stage.units + o, sums[n]);
    });
  }
  // A thread has one input of some filters.
  PORTER_DEVICE static void filter_gradient(const Block& block, const DeviceStage& stage,
                                            const Work* own, Work* gradient) {
    const std::uint32_t inputs = stage.inputs, units = stage.units;
    const std::uint32_t down = stage.stride * stage.in.row(),
                        right = stage.stride * stage.in.channels;
    const Work* above = own + stage.out.deltas;
    block.each((units + kTogether - 1) / kTogether * inputs, [&](std::uint32_t item) {
      const std::uint32_t i = item % inputs, first = item / inputs * kTogether;
      const Work *taken = own + stage.in.first + stage.offset(i), *due = above;
      std::uint32_t unit[kTogether];
      Work sums[kTogether] = {};
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kTogether; ++n) unit[n] = first + n < units ? first + n : first;
      std::uint32_t column = 0;
      PORTER_UNROLLED_SOME
      for (std::uint32_t p = 0; p < stage.out.positions(); ++p) {
        PORTER_UNROLLED
        for (std::uint32_t n = 0; n < kTogether; ++n) sums[n] += due[unit[n]] * *taken;
        due += units;
        taken += right;
        if (++column == stage.out.width) {
          column = 0;
          taken += down - stage.out.width * right;
        }
      }
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kTogether; ++n)
        if (first + n < units) gradient[(first + n) * inputs + i] = sums[n];
    });
    block.each(units, [&](std::uint32_t o) {
      Work sum = 0;
      PORTER_UNROLLED_SOME
      for (std::uint32_t p = 0; p < stage.out.positions(); ++p) sum += above[p * units + o];
      gradient[units * inputs + o] = sum;
    });
  }

  PORTER_DEVICE static Work dense_due(const DeviceStage& stage, const Work* x, const Work* own,
                                      std::uint32_t i) {
    const Work* above = own + stage.out.deltas;
    Work sum = 0;
    PORTER_UNROLLED_SOME
    for (std::uint32_t o = 0; o < stage.units; ++o)
      sum += above[o] * x[stage.weights + o * stage.inputs + i];
    return sum;
  }
  /// each(position, input of its window) of the windows that number k is in, ascending.
  template <class Each>
  PORTER_DEVICE static void for_each_window(const DeviceStage& stage, std::uint32_t k,
                                            const Each& each) {
    const auto& in = stage.in;
    const std::uint32_t cell = k / in.channels, c = k - cell * in.channels;
    const std::uint32_t y = cell / in.width + in.padding, e = cell % in.width + in.padding;
    const auto down = stage.windows_of(y, stage.out.height);
    const auto right = stage.windows_of(e, stage.out.width);
    PORTER_ROLLED
    for (std::uint32_t top = down.first; top < down.last; ++top) PORTER_ROLLED
    for (std::uint32_t left = right.first; left < right.last; ++left)
      each(top * stage.out.width + left,
           ((y - top * stage.stride) * stage.kernel + e - left * stage.stride) * in.channels + c);
  }
  PORTER_DEVICE static Work filters_due(const DeviceStage& stage, const Work* x, const Work* own,
                                        std::uint32_t k) {
    Work due = 0;
    for_each_window(stage, k, [&](std::uint32_t position, std::uint32_t input) {
      const Work* above = own + stage.out.deltas + position * stage.units;
      const Work* w = x + stage.weights + input;
      Work sum = 0;
      PORTER_UNROLLED_SOME
      for (std::uint32_t o = 0; o < stage.units; ++o) sum += above[o] * w[o * stage.inputs];
      due += sum;
    });
    return due;
  }

  /// Of a window, whose corner it is given: NaN is the largest; the place is that of the first.
  struct Largest {
    Work value;
    std::uint32_t place;
  };
  PORTER_DEVICE static Largest largest(const DeviceStage& stage, const Work* corner) {
    Largest found{*corner, 0};
    bool broken = *corner != *corner;
    PORTER_ROLLED
    for (std::uint32_t y = 0; y < stage.kernel; ++y) PORTER_ROLLED
    for (std::uint32_t e = 0; e < stage.kernel; ++e) {
      const Work cell = corner[y * stage.in.row() + e * stage.in.channels];
      if (cell != cell) {
        if (!broken) found.place = y * stage.kernel + e;
        broken = true;
        found.value = cell;
      } else if (cell > found.value) {
        found = {cell, y * stage.kernel + e};
      }
    }
    return found;
  }
  PORTER_DEVICE static Work mean(const DeviceStage& stage, const Work* corner) {
    Work sum = 0;
    for (std::uint32_t y = 0; y < stage.kernel; ++y)
      for (std::uint32_t e = 0; e < stage.kernel; ++e)
        sum += corner[y * stage.in.row() + e * stage.in.channels];
    return sum / static_cast<Work>(stage.kernel * stage.kernel);
  }
  PORTER_DEVICE static Work pool_due(const DeviceStage& stage, const Work* own, std::uint32_t k) {
    const std::uint32_t channels = stage.in.channels, c = k % channels;
    Work due = 0;
    for_each_window(stage, k, [&](std::uint32_t position, std::uint32_t input) {
      const Work above = own[stage.out.deltas + position * channels + c];
      if (stage.kind == StageKind::average_pool)
        due += above / static_cast<Work>(stage.kernel * stage.kernel);
      else if (largest(stage, own + stage.corner(position) + c).place == input / channels)
        due += above;
    });
    return due;
  }

  // group_norm.hpp of the library has the formulas. The room holds, of each channel, mean and
  // inverse of its group, and the derivatives by scale and shift.
  /// Sums of channels become the means of their groups.
  PORTER_DEVICE static void to_group_means(const Block& block, const DeviceStage& stage,
                                           Work* sums) {
    const std::uint32_t width = stage.in.channels / stage.groups;
    const auto count = static_cast<Work>(stage.in.positions() * width);
    block.each(stage.groups, [&](std::uint32_t group) {
      Work sum = 0;
      for (std::uint32_t c = group * width; c < (group + 1) * width; ++c) sum += sums[c];
      for (std::uint32_t c = group * width; c < (group + 1) * width; ++c) sums[c] = sum / count;
    });
  }
  PORTER_DEVICE static void normalise(const Block& block, const DeviceStage& stage, const Work* x,
                                      Work* own) {
    const std::uint32_t channels = stage.units, positions = stage.in.positions();
    const Work* in = own + stage.in.first;
    Work *const mean = own + stage.room, *const inverse = mean + channels;
    block.each(channels, [&](std::uint32_t c) {
      Work sum = 0;
      for (std::uint32_t p = 0; p < positions; ++p) sum += in[p * channels + c];
      mean[c] = sum;
    });
    to_group_means(block, stage, mean);
    block.each(channels, [&](std::uint32_t c) {
      Work sum = 0;
      for (std::uint32_t p = 0; p < positions; ++p) {
        const Work off = in[p * channels + c] - mean[c];
        sum += off * off;
      }
      inverse[c] = sum;
    });
    to_group_means(block, stage, inverse);
    block.each(channels, [&](std::uint32_t c) {
      inverse[c] = 1 / std::sqrt(inverse[c] + static_cast<Work>(1e-5));
    });
    block.each(stage.in.size(), [&](std::uint32_t k) {
      const std::uint32_t c = k % channels;
      store(stage, own, k,
            (1 + x[stage.weights + c]) * ((in[k] - mean[c]) * inverse[c]) + x[stage.biases + c]);
    });
  }
  /// The derivatives by scale and shift, for the room and the gradient.
  PORTER_DEVICE static void add_norm_gradient(const Block& block, const DeviceStage& stage,
                                              Work* own, Work* apart) {
    const std::uint32_t channels = stage.units;
    const Work *in = own + stage.in.first, *above = own + stage.out.deltas;
    Work* const mean = own + stage.room;
    block.each(channels, [&](std::uint32_t c) {
      const Work of_group = mean[c], inverse = mean[channels + c];
      Work by_scale = 0, by_shift = 0;
      for (std::uint32_t k = c; k < stage.in.size(); k += channels) {
        by_scale += above[k] * ((in[k] - of_group) * inverse);
        by_shift += above[k];
      }
      apart[stage.apart + c] = mean[2 * channels + c] = by_scale;
      apart[stage.apart + channels + c] = mean[3 * channels + c] = by_shift;
    });
  }
  PORTER_DEVICE static void norm_derivatives(const Block& block, const DeviceStage& stage,
                                             const Work* x, Work* own) {
    const std::uint32_t channels = stage.units;
    const Work *in = own + stage.in.first, *above = own + stage.out.deltas;
    Work *const mean = own + stage.room, *const inverse = mean + channels;
    Work *const mean_tz = inverse + channels, *const mean_t = mean_tz + channels;
    block.each(2 * channels,
               [&](std::uint32_t i) { mean_tz[i] *= 1 + x[stage.weights + i % channels]; });
    to_group_means(block, stage, mean_tz);
    to_group_means(block, stage, mean_t);
    block.each(stage.in.size(), [&](std::uint32_t k) {
      const std::uint32_t c = k % channels;
      const Work z = (in[k] - mean[c]) * inverse[c];
      store_below(stage, own, k,
                  Work{0} + inverse[c] * ((1 + x[stage.weights + c]) * above[k] - mean_t[c] -
                                          z * mean_tz[c]));
    });
  }

  /// One of eight sums of squares that take turns.
  PORTER_DEVICE static double lane_of_square(const Work* values, std::uint32_t size,
                                             std::uint32_t lane) {
    double sum = 0;
    PORTER_UNROLLED_SOME
    for (std::uint32_t i = lane; i < size; i += kSumLanes)
      sum += double{values[i]} * double{values[i]};
    return sum;
  }
  PORTER_DEVICE static double add_lanes(const double* s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }
  /// The factor of the sample, which deltas of dense layers get; others wait.
  PORTER_DEVICE double clip(const Block& block, Work* own, const Work* apart) const {
    auto* const lanes = block.memory_as<double>();
    double* const total = lanes + 2 * kSumLanes;
    block.once([&] { *total = 0; });
    for (std::uint32_t s = 0; s < stages.count; ++s) {
      const DeviceStage stage = stages.list[s];
      if (!stage.has_parameters) continue;
      block.each(2 * kSumLanes, [&](std::uint32_t i) {
        const std::uint32_t lane = i % kSumLanes;
        if (!stage.is_dense())
          lanes[i] =
              i < kSumLanes ? lane_of_square(apart + stage.apart, stage.parameters(), lane) : 0;
        else
          lanes[i] = i < kSumLanes ? lane_of_square(own + stage.out.deltas, stage.units, lane)
                                   : lane_of_square(own + stage.in.first, stage.inputs, lane);
      });
      block.once([&] {
        const double first = add_lanes(lanes);
        *total += stage.is_dense() ? first * (1 + add_lanes(lanes + kSumLanes)) : first;
      });
    }
    const double factor = clipping.factor(std::sqrt(*total));
    if (factor == 1 || factor == 0) return factor;  // who is left out is not looked at
    for (std::uint32_t s = 0; s < stages.count; ++s) {
      const DeviceStage stage = stages.list[s];
      if (stage.is_dense())
        block.each(stage.units, [&](std::uint32_t o) {
          own[stage.out.deltas + o] *= static_cast<Work>(factor);
        });
    }
    return factor;
  }
};

}  // namespace porter::cuda
