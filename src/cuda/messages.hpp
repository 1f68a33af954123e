// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "heard.hpp"

namespace porter::cuda {

/// Whose messages left the public bounds first.
struct Outlaws {
  double bounds[2];       ///< of the channels
  double* norms;          ///< of all messages of that step; 0 where they are within the bounds
  std::uint32_t* step;    ///< its number; at first the largest there is
  std::uint32_t* raised;  ///< read by the host at any time; not 0: there are some

  /// The norm of a message of step `number`.
  PORTER_DEVICE void report(std::size_t message, std::uint32_t channel, std::uint32_t number,
                            double norm) const {
    if (norm <= bounds[channel] || *step < number) return;
    norms[message] = norm;
    atomic_min(step, number);
    *raised = 1;
  }
};

/// Block (agent, channel): the norm of a message, as check_sent computes it, against its bound.
struct CheckKernel {
  static constexpr int kThreads = 512;

  Heard sent;
  std::uint32_t kept, step;
  Outlaws outlaws;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t message = Heard::message(block.x, block.y);
    auto* const memory = block.memory_as<double>();
    // In any order first: within this much of the bound the order decides.
    constexpr double kNear = 1 - 1e-6;
    block.each(kThreads, [&](std::uint32_t t) {
      double sum = 0;
      for (std::uint32_t i = t; i < kept; i += kThreads) sum += square(message * kept + i);
      memory[t] = sum;
    });
    block.each(kGroups, [&](std::uint32_t g) {
      double sum = 0;
      for (std::uint32_t t = g; t < kThreads; t += kGroups) sum += memory[t];
      memory[kThreads + g] = sum;
    });
    double near = 0;
    for (std::uint32_t g = 0; g < kGroups; ++g) near += memory[kThreads + g];
    if (std::sqrt(near) <= kNear * outlaws.bounds[block.y]) return;
    block.each(0, [](std::uint32_t) {});  // all have read it
    check(block, message);
  }

 private:
  static constexpr std::uint32_t kGroups = 32;
  static_assert(kThreads + kGroups < kSumTile);

  PORTER_DEVICE double square(std::size_t i) const {
    const double value = sent.entries ? sent.entries[i].value : sent.values[i];
    return value * value;
  }
  PORTER_DEVICE PORTER_RARE void check(const Block& block, std::size_t message) const {
    const double sum = ordered_sum(block, block.memory_as<double>(), kSumLanes, kept,
                                   [&](std::uint32_t i) { return square(message * kept + i); });
    block.once([&] { outlaws.report(message, block.y, step, std::sqrt(sum)); });
  }
};

}  // namespace porter::cuda
