// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace porter {

/// Some values of one figure, one per seed.
struct Spread {
  double mean = 0, low = 0, high = 0;
  std::optional<double> stddev = {};  ///< of the values, n - 1; nothing for a single one

  /// Whether there is a deviation to tell: not where all values are the same, or some infinite.
  bool is_wide() const;
  /// mean ± standard deviation; the mean alone where that is all.
  std::string text() const;
};
/// Nothing for no values. The sum runs in the order given.
std::optional<Spread> spread_of(const std::vector<double>& values);

}  // namespace porter
