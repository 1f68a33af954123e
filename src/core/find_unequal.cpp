// SPDX-License-Identifier: Apache-2.0
#include "core/find_unequal.hpp"

namespace porter {

std::size_t find_unequal(std::span<const float> row, float background, std::uint32_t* columns) {
  std::size_t count = 0;
  // Always written, and kept or not: no branch that is hard to predict.
  for (std::size_t j = 0; j < row.size(); ++j) {
    columns[count] = static_cast<std::uint32_t>(j);
    count += row[j] != background ? 1 : 0;
  }
  return count;
}

}  // namespace porter
