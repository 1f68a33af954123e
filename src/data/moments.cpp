// SPDX-License-Identifier: Apache-2.0
#include "data/moments.hpp"

#include <cmath>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {

void check_moments(const DataOptions& options, std::string_view place) {
  if (!options.moments) return;
  const auto [mean, deviation] = *options.moments;
  require(options.scale == FeatureScale::standard, ErrorKind::usage, place,
          "mean and deviation are for data.scale = \"standard\", found \"",
          choice_text(options.scale), "\"");
  // A model's card divides by the deviation as well.
  require(std::isfinite(mean) && deviation > 0 && std::isnormal(deviation), ErrorKind::usage, place,
          "expected a finite mean and deviation, the latter above 0, found [", shortest(mean), ", ",
          shortest(deviation), "]");
}

}  // namespace porter
