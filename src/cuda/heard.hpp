// SPDX-License-Identifier: Apache-2.0
// The messages that UpdateKernel moves gaps by: their form, the first of a run, gaps without them.
#pragma once

#include "block.hpp"

namespace porter::cuda {

/// An entry of a message.
struct alignas(8) HeardEntry {
  std::uint32_t position;
  float value;
};

/// The messages of a gossip step as UpdateKernel has them: entries[message][i], starts[message][p]
/// <= i < starts[message][p + 1], stands at the position of part p that has the 16 low bits
/// positions[message][i]; they are known before the entries. Message 2 agent + channel.
struct Heard {
  const std::uint16_t* positions;  ///< null: all entries travel, as `values`
  const std::uint32_t* starts;
  HeardEntry* entries;
  float* values;

  PORTER_DEVICE static std::size_t message(std::size_t agent, std::uint32_t channel) {
    return 2 * agent + channel;
  }
  /// How far a position is behind `first`, less than 2^16.
  PORTER_DEVICE static std::uint16_t offset(std::uint16_t low_half, std::uint32_t first) {
    return static_cast<std::uint16_t>(low_half - static_cast<std::uint16_t>(first));
  }
  PORTER_DEVICE static std::uint32_t position(std::uint16_t low_half, std::uint32_t first) {
    return first + offset(low_half, first);
  }
};

/// Block (agent, channel): Q <- Q + C(S - Q), the difference rounded to float once, from a state in
/// memory. UpdateKernel makes all later messages.
template <class Real>
struct PublishKernel {
  static constexpr int kThreads = 256;

  Heard out;
  std::uint32_t part, parts, kept, stride;
  const Real* S[2];
  Real* Q[2];

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t row = std::size_t{block.x} * stride;
    const std::size_t message = Heard::message(block.x, block.y);
    const Real* from = S[block.y] + row;
    Real* to = Q[block.y] + row;
    const auto publish = [&](std::uint32_t at) {
      const auto value = static_cast<float>(from[at] - to[at]);
      to[at] += Real{value};
      return value;
    };
    if (!out.positions) {
      block.each(kept, [&](std::uint32_t i) { out.values[message * kept + i] = publish(i); });
      return;
    }
    const auto* starts = out.starts + message * (parts + 1);
    block.each(parts, [&](std::uint32_t p) {
      for (std::uint32_t i = starts[p]; i < starts[p + 1]; ++i) {
        const auto at = Heard::position(out.positions[message * kept + i], p * part);
        out.entries[message * kept + i] = {at, publish(at)};
      }
    });
  }
};

/// Block (agent, tile): gaps summed from Q in double and rounded once, as float gaps are now and
/// then.
template <class Real>
struct RebuildKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kTile = 2048;

  std::uint32_t dim, stride;
  const Real* Q[2];
  Real* R[2];
  const std::uint32_t *in_starts, *in_senders;
  const double* in_weights;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t first = block.y * kTile, begin = in_starts[agent],
                        end = in_starts[agent + 1];
    block.each(dim - first < kTile ? dim - first : kTile, [&](std::uint32_t offset) {
      for (std::uint32_t c = 0; c < 2; ++c) {
        double sum = 0;
        for (std::uint32_t e = begin; e < end; ++e)
          sum += in_weights[e] * double{Q[c][std::size_t{in_senders[e]} * stride + first + offset]};
        R[c][agent * stride + first + offset] = static_cast<Real>(1.0 * sum);
      }
    });
  }
};

}  // namespace porter::cuda
