// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "block.hpp"

namespace porter::cuda {

/// The messages of a gossip step: values[message][i] stands at positions[message][i], or at i where
/// all entries travel. Message 2 agent + channel.
struct Messages {
  const std::uint32_t *positions, *starts;  ///< null: all entries travel
  float* values;
  std::uint32_t kept, tiles;

  PORTER_DEVICE std::size_t first(std::size_t agent, std::uint32_t channel) const {
    return (2 * agent + channel) * kept;
  }
  PORTER_DEVICE const std::uint32_t* starts_of(std::size_t agent, std::uint32_t channel) const {
    return starts + (2 * agent + channel) * (tiles + 1);
  }
};

/// Block (agent, channel): Q <- Q + C(S - Q), the difference rounded to float once. Norms as
/// check_sent computes them; one that exceeds its bound raises the flag, which the host reads.
template <class Real>
struct PublishKernel {
  static constexpr int kThreads = 256;

  Messages messages;
  std::uint32_t stride;
  const Real* S[2];
  Real* Q[2];
  double bounds[2];
  double* norms;
  std::uint32_t* flag;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x, row = agent * stride;
    const auto channel = block.y;
    const Real* from = S[channel] + row;
    Real* to = Q[channel] + row;
    const std::size_t first = messages.first(agent, channel);
    float* values = messages.values + first;
    const auto* positions = messages.positions ? messages.positions + first : nullptr;
    block.each(messages.kept, [&](std::uint32_t i) {
      const std::size_t at = positions ? positions[i] : i;
      const auto value = static_cast<float>(from[at] - to[at]);
      values[i] = value;
      to[at] += Real{value};
    });
    const double square =
        ordered_sum(block, block.memory_as<double>(), kSumLanes, messages.kept,
                    [&](std::uint32_t i) { return double{values[i]} * double{values[i]}; });
    block.once([&] {
      const double norm = std::sqrt(square);
      norms[2 * agent + channel] = norm;
      if (!(norm <= bounds[channel])) *flag = 1;
    });
  }
};

}  // namespace porter::cuda
