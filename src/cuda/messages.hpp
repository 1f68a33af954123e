// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "block.hpp"

namespace porter::cuda {

/// Whose messages left the public bounds first.
struct Outlaws {
  double bounds[2];       ///< of the channels
  double* norms;          ///< of all messages of that step; 0 where they are within the bounds
  std::uint32_t* step;    ///< its number; at first the largest there is
  std::uint32_t* raised;  ///< read by the host at any time; not 0: there are some
};

/// Block (agent, channel): the norm of a message, as check_sent computes it, against its bound.
struct CheckKernel {
  static constexpr int kThreads = 512;

  const float* values;
  std::uint32_t kept, step;
  Outlaws outlaws;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t message = 2 * std::size_t{block.x} + block.y;
    const float* v = values + message * kept;
    const double square = ordered_sum(block, block.memory_as<double>(), kSumLanes, kept,
                                      [&](std::uint32_t i) { return double{v[i]} * double{v[i]}; });
    block.once([&] {
      const double norm = std::sqrt(square);
      if (norm <= outlaws.bounds[block.y] || *outlaws.step < step) return;
      outlaws.norms[message] = norm;
      atomic_min(outlaws.step, step);
      *outlaws.raised = 1;
    });
  }
};

}  // namespace porter::cuda
