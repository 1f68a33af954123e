// SPDX-License-Identifier: Apache-2.0
// What the size of a run decides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "porter/core/error.hpp"
#include "porter/train/assemble.hpp"

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
/// twice the training set. On a tenth of MNIST's test rows every agent seemed 1 % worse.
inline std::size_t measured_test_rows(std::size_t test, std::size_t train, std::size_t agents) {
  return std::min(test, std::max<std::size_t>(256, std::max(test, 2 * train) / agents));
}

/// Whether a round has so little work, n d b coordinates of gradients, that handing it to other
/// threads takes longer than doing it.
inline bool is_small_round(std::size_t agents, std::size_t dim, std::size_t batch) {
  return agents * dim * batch < 20'000;
}

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
  /// That one sample's loss touches. A product with few non-zeros counts as the larger dense one
  /// that takes as long.
  double parameters_per_row;
};

/// The rounds after which metrics are computed, ascending; always 0 and the last. every:N is taken
/// at its word. log:POINTS is at most POINTS rounds, even on a logarithmic axis, and fewer where
/// evaluation would take more than a tenth of the run, loading included, and a second of one core,
/// by a fixed estimate of all of them: the rounds depend on the config and the data only.
/// log-all:POINTS does without this exception.
std::vector<std::uint32_t> evaluation_rounds(const Schedule& schedule, std::uint32_t rounds,
                                             const RunSize& size);

}  // namespace porter
