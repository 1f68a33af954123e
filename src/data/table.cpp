// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include "porter/core/error.hpp"

namespace porter {

std::string FileTable::place(std::size_t row) const {
  return lines.empty() ? concat(name, ", row ", row) : concat(name, ", line ", lines[row]);
}

}  // namespace porter
