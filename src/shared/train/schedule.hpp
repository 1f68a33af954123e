// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "porter/config/config.hpp"

namespace porter {

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
