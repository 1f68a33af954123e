// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include "porter/core/error.hpp"

namespace porter {

std::string FileTable::place(std::size_t row) const {
  return lines.empty() ? concat(name, ", row ", row) : concat(name, ", line ", lines[row]);
}

void FileTable::void_last(std::size_t row, std::size_t line) {
  labels.resize(row);
  labels.push_back(0);
  lines.resize(row);
  lines.push_back(line);
  if (data.sparse()) {
    data.row_starts.resize(row + 1);
    data.values.resize(data.row_starts[row]);
    data.columns.resize(data.row_starts[row]);
    data.row_starts.push_back(data.values.size());
  } else {
    data.values.resize(row * data.features);
    data.values.resize((row + 1) * data.features, 0.0F);
  }
  data.voids.resize(row);
  data.voids.push_back(1);
}

}  // namespace porter
