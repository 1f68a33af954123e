// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/spread.hpp"
#include "report/trace.hpp"

namespace porter {

/// What is shown as one line and one row: a run, or runs that differ in nothing but their seeds.
struct RunGroup {
  std::string name;
  std::vector<Trace> runs;        ///< that count: those that finished, or all if none has
  std::vector<Trace> apart = {};  ///< those that did not finish beside some that have

  const Trace& first() const { return runs.front(); }
  std::size_t seeds() const { return runs.size() + apart.size(); }
  bool several() const { return seeds() > 1; }
  bool diverged() const;
  /// The status of all, or "2 of 3 finished".
  std::string status() const;
  /// The name with the number of seeds, where there are several.
  std::string label() const;
  /// Over the runs that have the figure.
  std::optional<Spread> spread(
      const std::function<std::optional<double>(const Trace&)>& figure) const;
  std::optional<Spread> last(std::string_view column) const;
};

/// Runs with the same config but for run.seed (and keys that do not change results) as one, in
/// order of first appearance. Of two with the same seed the second stays by itself: it would count
/// one draw twice. So do runs that are under way, and those that were evaluated at rounds of which
/// they share less than half.
std::vector<RunGroup> group_by_seed(std::vector<Trace> traces);

/// Each run by itself.
std::vector<RunGroup> each_alone(std::vector<Trace> traces);

}  // namespace porter
