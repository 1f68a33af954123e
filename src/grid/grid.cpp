// SPDX-License-Identifier: Apache-2.0
#include "grid/grid.hpp"

#include <array>
#include <string_view>

namespace porter {

std::string plain_value(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

const char* to_string(RunEnd end) {
  constexpr std::array names = {"paused", "finished", "dropped", "diverged", "failed", "skipped"};
  return names[static_cast<std::size_t>(end)];
}

const std::vector<MetricsColumn>& repeatable_columns() {
  static const auto columns = [] {
    auto all = metrics_columns();
    std::erase_if(all, [](const auto& one) { return std::string_view(one.name) == "seconds"; });
    return all;
  }();
  return columns;
}

}  // namespace porter
