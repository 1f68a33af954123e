// SPDX-License-Identifier: Apache-2.0
// What the size of a run decides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "porter/core/error.hpp"
#include "porter/train/assemble.hpp"
#include "train/small_round.hpp"

namespace porter {

/// An even sample of the agents: all of them up to 1000.
inline std::size_t measured_agents(std::size_t agents) {
  return std::min<std::size_t>(agents, 1000);
}

/// Training rows on which each of them is measured.
inline std::size_t measured_rows(std::size_t rows, std::size_t agents) {
  return std::min(rows, std::max<std::size_t>(256, rows / agents));
}

/// Test rows on which each of them is measured: all, while the agents together read no more than
/// twice the training set, or where that costs little. On a tenth of MNIST's test rows every agent
/// seemed 1 % worse.
inline std::size_t measured_test_rows(std::size_t test, std::size_t train, std::size_t agents,
                                      std::size_t dim) {
  constexpr std::size_t kCheapProducts = 100'000'000;  // rows x agents x parameters: milliseconds
  const std::size_t cheap = kCheapProducts / (measured_agents(agents) * dim);
  return std::min(test, std::max({std::size_t{256}, std::max(test, 2 * train) / agents, cheap}));
}

/// How many of the agents' points share a reading of the data.
inline constexpr std::size_t kPointsOfAReading = 16;

/// What `build` returns; Error{io} naming what makes the run so large if memory runs out.
template <class Build>
auto within_memory(const RunFacts& facts, Build build) {
  try {
    return build();
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::io, "out of memory: no room for ", facts.agents,
         " agents (network.agents) with a model of ", facts.dim, " parameters (model)");
  }
}

/// The size of a run, as far as its time depends on it.
struct RunSize {
  std::size_t agents, dim, batch;
  std::size_t train_rows, test_rows;
  std::size_t values;  ///< of the data
  /// That one sample's loss touches. A product with few non-zeros, and a unit's activation, count
  /// as the larger dense product that takes as long.
  double parameters_per_row;
  bool noised = false;            ///< noise is added to every coordinate of a gradient
  bool agents_in_double = false;  ///< the agents' own points are measured like the average
};

/// The rounds after which metrics are computed, ascending; always 0 and the last. every:N is taken
/// at its word. log:POINTS is at most POINTS rounds, even on a logarithmic axis, and fewer where
/// evaluation would take more than a tenth of the run, loading included, or a fifth of a second of
/// one core where that is more. That is decided by a fixed estimate of all of them, so the rounds
/// depend on the config and the data only, never on a clock. log-all:POINTS does without this
/// exception.
std::vector<std::uint32_t> evaluation_rounds(const Schedule& schedule, std::uint32_t rounds,
                                             const RunSize& size);

}  // namespace porter
