// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rows.hpp"

#include <algorithm>

#include "porter/core/vector_math.hpp"

namespace porter {

Rows repeat_row(std::span<const double> x, std::size_t agents) {
  Rows rows(agents, x.size());
  for (std::size_t i = 0; i < agents; ++i) std::copy(x.begin(), x.end(), rows.row(i).begin());
  return rows;
}

std::vector<double> mean_row(const Rows& rows) {
  std::vector<double> mean(rows.dim(), 0.0);
  for (std::size_t i = 0; i < rows.agents(); ++i) axpy(1.0, rows.row(i), mean);
  for (double& value : mean) value /= static_cast<double>(rows.agents());
  return mean;
}

}  // namespace porter
