// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "prepare.hpp"

namespace porter {
namespace {

// Fixed, so that the rows do not depend on the run's seed.
constexpr std::uint64_t kSeed = 0x6F75746C696572;

struct Outliers {
  double fraction, factor;
};

Outliers parse(std::string_view text) {
  const auto spec = split_spec(text);
  const auto fraction = parse_number<double>(spec.name);
  const auto factor = spec.number<double>();
  require(
      fraction && *fraction > 0 && *fraction < 1 && factor && *factor > 0 && std::isfinite(*factor),
      ErrorKind::usage, "data.outliers: expected none or FRACTION:FACTOR with a fraction in ",
      "(0, 1) and a factor above 0, such as 0.01:100, found \"", text, "\"");
  return {*fraction, *factor};
}

}  // namespace

void plant_outliers(DataPair& data, std::string_view spec, bool bias) {
  if (spec == "none") return;
  const auto [fraction, factor] = parse(spec);
  auto& train = data.train;
  std::size_t planted = 0;
  for (std::size_t row = 0; row < train.rows(); ++row) {
    RngStream rng(kSeed, Draw::data, 0, static_cast<std::uint32_t>(row));
    if (rng.uniform() >= fraction) continue;
    ++planted;
    const auto values = row_values(train, row);
    for (float& value : values.first(values.size() - (bias ? 1 : 0)))
      value = static_cast<float>(value * factor);
  }
  data.source += concat("; ", planted, " training rows are outliers, ", factor, " times as long");
}

}  // namespace porter
