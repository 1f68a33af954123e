// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "porter/core/error.hpp"
#include "report/plot.hpp"

namespace porter {

/// Classes of the style sheet. The two counts share no divisor, so 35 lines look different.
inline constexpr std::size_t kColours = 7, kDashes = 5;

inline std::string style_classes(const Series& series) {
  const auto colour = concat("c", series.style % kColours);
  return series.companion ? colour + " companion" : concat(colour, " d", series.style % kDashes);
}

}  // namespace porter
