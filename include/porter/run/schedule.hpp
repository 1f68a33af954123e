// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "porter/run/config.hpp"

namespace porter {

/// The size of a run, as far as its time depends on it.
struct RunSize {
  std::size_t agents, dim, batch;
  std::size_t train_rows, test_rows;
  double parameters_per_row;  ///< that one sample's loss touches
};

/// The rounds after which metrics are computed, ascending; always 0 and the last. every:N is taken
/// at its word. log:POINTS is at most POINTS rounds, even on a logarithmic axis, and fewer (at
/// least three: 0, 1 and the last) where evaluation would take more than a tenth of the run and
/// more than two seconds of one core, by a fixed estimate of both: the rounds depend on the config
/// and the data only. log-all:POINTS does without this exception.
std::vector<std::uint32_t> evaluation_rounds(const Schedule& schedule, std::uint32_t rounds,
                                             const RunSize& size);

}  // namespace porter
