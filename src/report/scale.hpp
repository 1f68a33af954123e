// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace porter {

/// What an axis can show: beyond this, sums and ratios of values leave the finite numbers.
inline constexpr double kLargest = 1e100;

struct Tick {
  double value = 0;
  std::string label;
};

/// Maps values to [0, 1].
struct Scale {
  double low = 0, high = 1;
  bool log = false;

  double place(double value) const;
  /// Whether the axis can show the value at all: finite, and positive on a logarithmic axis.
  bool shows(double value) const;
  /// About `target` round values inside the range, ascending.
  std::vector<Tick> ticks(int target) const;
};

/// A scale over [low, high] with `margin` (a share of the range) at both ends. A range without
/// extent is widened; a linear one over values >= 0 does not go below 0. Both ends must be shown.
Scale make_scale(double low, double high, bool log, double margin);

}  // namespace porter
