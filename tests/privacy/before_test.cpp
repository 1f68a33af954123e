// SPDX-License-Identifier: Apache-2.0
// Releases of another kind before the steps whose noise is calibrated.
#include <gtest/gtest.h>

#include <vector>

#include "porter/core/error.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {
namespace {

PrivacyEvent statistics_with(double z, Adjacency adjacency) {
  return {.sampler = Sampler::full,
          .adjacency = adjacency,
          .records = 2000,
          .batch = 2000,
          .noise_multiplier = z,
          .steps = 2};
}

std::vector<PrivacyEvent> trainings() {
  return {{.sampler = Sampler::fixed, .records = 2000, .batch = 100, .steps = 60},
          {.sampler = Sampler::fixed, .records = 2000, .batch = 100, .steps = 1},
          {.sampler = Sampler::poisson,
           .adjacency = Adjacency::add_remove,
           .records = 2000,
           .batch = 100,
           .steps = 60},
          {.sampler = Sampler::poisson, .records = 2000, .batch = 100, .steps = 60},
          {.sampler = Sampler::full, .records = 2000, .batch = 2000, .steps = 20}};
}

TEST(CalibrationAfterOthers, KeepsTheTargetForAllTogetherAndIsTheLeastThatDoes) {
  const double delta = 1e-5, target = 2;
  for (auto event : trainings()) {
    SCOPED_TRACE(testing::Message() << int(event.sampler) << ' ' << event.steps);
    const std::vector before = {statistics_with(20, event.adjacency)};
    event.noise_multiplier = calibrate_noise_multiplier(event, target, delta, before);
    EXPECT_GT(event.noise_multiplier, calibrate_noise_multiplier(event, target, delta));
    std::vector all = {before[0], event};
    EXPECT_LE(privacy::epsilon(all, delta).upper, target);
    all[1].noise_multiplier *= 1 - 1e-3;
    EXPECT_GT(privacy::epsilon(all, delta).upper, target);
    EXPECT_EQ(calibrate_noise_multiplier(event, target, delta, {}),
              calibrate_noise_multiplier(event, target, delta));
  }
}

TEST(CalibrationAfterOthers, IsAnErrorWhereNothingIsLeft) {
  auto event = trainings()[0];
  const std::vector before = {statistics_with(2, Adjacency::replace)};
  EXPECT_GT(privacy::epsilon(before, 1e-5).upper, 2);
  EXPECT_THROW(calibrate_noise_multiplier(event, 2, 1e-5, before), Error);
}

TEST(EpsilonCurveAfterOthers, HoldsThemInEveryValue) {
  for (auto event : trainings()) {
    SCOPED_TRACE(testing::Message() << int(event.sampler) << ' ' << event.steps);
    event.noise_multiplier = 1.3;
    const std::vector before = {statistics_with(15, event.adjacency)};
    const EpsilonCurve curve(event, 1e-5, before);
    for (const std::uint64_t steps : {0, 1, 5, 17, 20, 60}) {
      if (steps > event.steps) continue;
      std::vector all = {before[0], event};
      all[1].steps = steps;
      const auto interval = privacy::epsilon(all, 1e-5);
      EXPECT_GE(curve.upper(steps), interval.lower) << steps;
      EXPECT_LE(curve.upper(steps), 1.2 * interval.upper) << steps;
      EXPECT_EQ(curve.exact(steps), interval.upper) << steps;
      if (steps == event.steps) {
        EXPECT_EQ(curve.interval().upper, interval.upper);
      }
    }
  }
}

}  // namespace
}  // namespace porter
