// SPDX-License-Identifier: Apache-2.0
#include "report/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"

namespace porter {

bool Spread::is_wide() const { return stddev && std::isfinite(*stddev) && low != high; }

std::string Spread::text() const {
  if (!is_wide()) return format_si(mean);
  const bool large = std::abs(mean) >= 1e4;
  return format_si(mean) + " ± " + (large ? format_si(*stddev) : fmt::format("{:.2g}", *stddev));
}

std::optional<Spread> spread_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  Spread out;
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
