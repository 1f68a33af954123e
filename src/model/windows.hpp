// SPDX-License-Identifier: Apache-2.0
// What slides over the maps of one sample, and the way back. The order of all sums is that of the
// loops, so the bits are the same everywhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/vectors.hpp"
#include "model/layer_stack.hpp"

namespace porter {

/// run(at, from, count) for each row of the window at `position` of the output: so many numbers of
/// the window from `at` on lie in the maps from `from` on. What lies outside belongs to no run.
template <class Run>
PORTER_INLINE inline void for_each_run(const Stage& stage, std::size_t position, const Run& run) {
  const auto& [kernel, stride, padding] = stage.window;
  const auto& in = stage.in;
  // Counted from the padding's corner, so that nothing is negative.
  const std::size_t top = position / stage.out.width * stride;
  const std::size_t left = position % stage.out.width * stride;
  const std::size_t first = std::max(left, padding);
  const std::size_t last = std::min(left + kernel, padding + in.width);
  if (first >= last) return;
  for (std::size_t i = 0; i < kernel; ++i) {
    const std::size_t y = top + i;
    if (y < padding || y >= padding + in.height) continue;
    run((i * kernel + first - left) * in.channels,
        ((y - padding) * in.width + first - padding) * in.channels, (last - first) * in.channels);
  }
}

/// The windows of a convolution as the rows of a matrix, out.positions() x inputs().
template <class Real>
void take_windows(const Stage& stage, std::span<const Real> maps, std::span<Real> windows) {
  const std::size_t width = stage.inputs();
  if (stage.window.padding > 0) std::fill(windows.begin(), windows.end(), Real{0});
  for (std::size_t position = 0; position < stage.out.positions(); ++position) {
    Real* window = windows.data() + position * width;
    for_each_run(stage, position, [&](std::size_t at, std::size_t from, std::size_t count) {
      std::copy_n(maps.data() + from, count, window + at);
    });
  }
}

/// Adds every number of the windows to its place in the maps.
template <class Real>
void add_windows(const Stage& stage, std::span<const Real> windows, std::span<Real> maps) {
  const std::size_t width = stage.inputs();
  for (std::size_t position = 0; position < stage.out.positions(); ++position) {
    const Real* window = windows.data() + position * width;
    for_each_run(stage, position, [&](std::size_t at, std::size_t from, std::size_t count) {
      for (std::size_t e = 0; e < count; ++e) maps[from + e] += window[at + e];
    });
  }
}

/// cell(from) for each position of a pool's window, row by row: its channels lie from `from` on.
template <class Cell>
PORTER_INLINE inline void for_each_cell(const Stage& stage, std::size_t position,
                                        const Cell& cell) {
  for_each_run(stage, position,
               [&](std::size_t, std::size_t from, std::size_t count) PORTER_INLINE {
                 for (std::size_t e = 0; e < count; e += stage.in.channels) cell(from + e);
               });
}

/// Whether a number is to be taken, as registers decide it: no branch depends on it, which nobody
/// could predict. NaN is the largest of a window, so that it shows.
template <class Real>
PORTER_INLINE inline void keep_larger(const Real* __restrict cell, std::size_t channels,
                                      Real* __restrict largest) {
  for (std::size_t c = 0; c < channels; ++c) {
    const bool larger = (cell[c] > largest[c]) | (cell[c] != cell[c]);
    largest[c] = larger ? cell[c] : largest[c];
  }
}

/// Gives what is due to the number that is the largest, and leaves nothing for those behind it.
template <class Real>
PORTER_INLINE inline void give_to_largest(const Real* __restrict cell,
                                          const Real* __restrict largest, std::size_t channels,
                                          Real* __restrict due, Real* __restrict to) {
  for (std::size_t c = 0; c < channels; ++c) {
    const bool taken = (cell[c] == largest[c]) | (cell[c] != cell[c]);
    const Real part = taken ? due[c] : Real{0};
    due[c] = taken ? Real{0} : due[c];
    to[c] += part;
  }
}

/// Channel by channel, of a pool's window.
template <class Real>
PORTER_INLINE inline void largest_of(const Stage& stage, std::size_t position, const Real* maps,
                                     Real* largest) {
  const std::size_t channels = stage.in.channels;
  bool begun = false;
  for_each_cell(stage, position, [&](std::size_t from) PORTER_INLINE {
    if (begun)
      keep_larger(maps + from, channels, largest);
    else
      std::copy_n(maps + from, channels, largest);
    begun = true;
  });
}

template <class Real>
void pool_largest(const Stage& stage, std::span<const Real> maps, std::span<Real> out) {
  with_vectors([&, in = maps.data(), to = out.data()]<Width>() PORTER_INLINE {
    for (std::size_t position = 0; position < stage.out.positions(); ++position)
      largest_of(stage, position, in, to + position * stage.in.channels);
  });
}

/// Adds what the outputs are due to the inputs that they were taken from: of equal ones to the
/// first. `room` is for numbers of any content.
template <class Real>
void unpool_largest(const Stage& stage, std::span<const Real> maps, std::span<const Real> above,
                    std::span<Real> below, std::vector<Real>& room) {
  const std::size_t channels = stage.in.channels;
  room.resize(2 * channels);
  Real* const largest = room.data();
  Real* const due = largest + channels;
  with_vectors([=, &stage, in = maps.data(), from_above = above.data(), to = below.data()]<Width>()
                   PORTER_INLINE {
                     for (std::size_t position = 0; position < stage.out.positions(); ++position) {
                       largest_of(stage, position, in, largest);
                       std::copy_n(from_above + position * channels, channels, due);
                       for_each_cell(stage, position, [=](std::size_t from) PORTER_INLINE {
                         give_to_largest(in + from, largest, channels, due, to + from);
                       });
                     }
                   });
}

template <class Real>
void pool_mean(const Stage& stage, std::span<const Real> maps, std::span<Real> out) {
  const std::size_t channels = stage.in.channels;
  const auto area = static_cast<Real>(stage.window.area());
  std::fill(out.begin(), out.end(), Real{0});
  for (std::size_t position = 0; position < stage.out.positions(); ++position) {
    const auto sums = out.subspan(position * channels, channels);
    for_each_cell(stage, position, [&](std::size_t from) {
      for (std::size_t c = 0; c < channels; ++c) sums[c] += maps[from + c];
    });
    for (Real& sum : sums) sum /= area;
  }
}

template <class Real>
void unpool_mean(const Stage& stage, std::span<const Real> above, std::span<Real> below) {
  const std::size_t channels = stage.in.channels;
  const auto area = static_cast<Real>(stage.window.area());
  for (std::size_t position = 0; position < stage.out.positions(); ++position)
    for_each_cell(stage, position, [&](std::size_t from) {
      for (std::size_t c = 0; c < channels; ++c)
        below[from + c] += above[position * channels + c] / area;
    });
}

}  // namespace porter
