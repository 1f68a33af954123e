// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "porter/core/error.hpp"
#include "porter/run/sweep.hpp"

namespace porter {

SweepMetric find_sweep_metric(const std::string& name) {
  const std::vector<std::string_view> others = {"round", "epsilon", "seconds"};
  std::string known;
  for (const auto& column : metrics_columns()) {
    const std::string_view title = column.name;
    if (std::find(others.begin(), others.end(), title) != others.end()) continue;
    if (name == title) return {column, title.find("accuracy") != title.npos};
    known += (known.empty() ? "" : ", ") + std::string(title);
  }
  fail(ErrorKind::usage, "metric: expected one of ", known, "; found \"", name, "\"");
}

const char* to_string(SweepStatus status) {
  switch (status) {
    case SweepStatus::paused:
      return "paused";
    case SweepStatus::finished:
      return "finished";
    case SweepStatus::dropped:
      return "dropped";
    case SweepStatus::diverged:
      return "diverged";
    case SweepStatus::skipped:
      return "skipped";
    default:
      return "failed";
  }
}

}  // namespace porter
