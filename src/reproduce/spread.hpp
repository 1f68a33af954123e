// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "report/text.hpp"

namespace porter {

/// Some values of one figure, one per seed.
struct Spread {
  double mean = 0, low = 0, high = 0;
  std::optional<double> stddev = {};  ///< of the values, n - 1; nothing for a single one
  std::size_t count = 0;

  /// mean ± standard deviation; the mean alone where all values are the same.
  std::string text() const {
    if (!stddev || low == high) return format_si(mean);
    const bool large = std::abs(mean) >= 1e4;
    return format_si(mean) + " ± " + (large ? format_si(*stddev) : fmt::format("{:.2g}", *stddev));
  }
};

/// Nothing for no values. The sum runs in the order given.
inline std::optional<Spread> spread_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  Spread out{.count = values.size()};
  for (const double value : values) out.mean += value;
  out.mean /= static_cast<double>(values.size());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  out.low = *low;
  out.high = *high;
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) squares += (value - out.mean) * (value - out.mean);
    out.stddev = std::sqrt(squares / static_cast<double>(values.size() - 1));
  }
  return out;
}

}  // namespace porter
