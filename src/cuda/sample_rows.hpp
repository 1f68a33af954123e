// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block.hpp"

namespace porter::cuda {

/// The training rows on the device, and the batches that were drawn from them.
struct SampleRows {
  const float* values;           ///< rows x features, or the non-zeros
  const std::uint32_t* columns;  ///< of the non-zeros; null where all features are there
  const std::uint64_t* starts;   ///< of the rows of non-zeros
  const float* labels;
  std::uint32_t features, per_agent, batch;
  const std::uint32_t* picks;   ///< agent x batch; null: all rows of an agent
  const std::uint32_t* counts;  ///< how many of `batch` an agent has; null: all

  PORTER_DEVICE std::uint32_t count(std::size_t agent) const {
    return counts ? counts[agent] : batch;
  }

  PORTER_DEVICE std::size_t row(std::size_t agent, std::uint32_t i) const {
    return agent * per_agent + (picks ? picks[agent * batch + i] : i);
  }
  PORTER_DEVICE const float* values_of(std::size_t row) const {
    return values + (columns ? starts[row] : row * features);
  }
  PORTER_DEVICE std::uint32_t size_of(std::size_t row) const {
    return columns ? static_cast<std::uint32_t>(starts[row + 1] - starts[row]) : features;
  }
  PORTER_DEVICE std::uint32_t column(std::size_t row, std::uint32_t i) const {
    return columns ? columns[starts[row] + i] : i;
  }
};

}  // namespace porter::cuda
