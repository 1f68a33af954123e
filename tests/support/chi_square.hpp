// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace porter {

/// How many standard deviations Pearson's statistic lies above its mean, after the cube-root
/// transformation of Wilson and Hilferty, which makes it nearly normal. Cells with an expectation
/// below ten are put together with the following ones.
inline double chi_square_score(std::span<const std::uint64_t> counts,
                               std::span<const double> expected) {
  double statistic = 0, seen = 0, wanted = 0;
  int cells = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += static_cast<double>(counts[i]);
    wanted += expected[i];
    if (wanted < 10) continue;
    statistic += (seen - wanted) * (seen - wanted) / wanted;
    ++cells;
    seen = wanted = 0;
  }
  const double freedom = cells - 1, spread = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

}  // namespace porter
