// SPDX-License-Identifier: Apache-2.0
#include "privacy/gaussian_mechanism.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace porter {
namespace {

// The formula as it stands, with 11 more bits; exact enough where nothing cancels.
long double plain_delta(long double e, long double mu) {
  const long double root = std::sqrt(2.0L);
  return std::erfc((e / mu - mu / 2) / root) / 2 -
         std::exp(e) * std::erfc((e / mu + mu / 2) / root) / 2;
}

TEST(GaussianMechanism, FollowsTheFormulaInBothTails) {
  for (const double mu : {0.01, 0.3, 1.0, 4.0, 30.0})
    for (const double deviations : {-6.0, -1.0, 0.0, 0.5, 3.0, 8.0, 20.0}) {
      const double e = mu * mu / 2 + deviations * mu;
      SCOPED_TRACE(testing::Message() << "mu " << mu << " epsilon " << e);
      const auto expected = static_cast<double>(plain_delta(e, mu));
      EXPECT_NEAR(gaussian_delta(e, mu), expected, 2e-12 * expected);
    }
}

TEST(GaussianMechanism, StaysPositiveAndFallsWhereTheFormulaCancels) {
  double before = 1;
  for (double e = 100; e < 700; e += 10) {
    const double delta = gaussian_delta(e, 20);
    EXPECT_GT(delta, 0) << e;
    EXPECT_LT(delta, before) << e;
    before = delta;
  }
}

TEST(GaussianMechanism, HasTheEpsilonsOfFortyDigits) {
  const struct {
    double z, delta, epsilon;
  } cases[] = {{0.3, 1e-5, 19.130767834361926}, {0.5, 1e-3, 7.581279924570114},
               {1, 1e-9, 6.173935046670908},    {5, 1e-5, 0.7255217508577958},
               {10, 1e-3, 0.19753397323971042}, {50, 1e-3, 0.025231749149958765}};
  for (const auto& c : cases)
    EXPECT_NEAR(gaussian_epsilon(c.delta, 1 / c.z).above, c.epsilon, 1e-10 * c.epsilon) << c.z;
}

TEST(GaussianMechanism, InvertsFromAbove) {
  for (const double mu : {0.001, 0.5, 7.0, 8000.0})
    for (const double delta : {1e-3, 1e-9, 1e-30}) {
      const double e = gaussian_epsilon(delta, mu).above;
      EXPECT_LE(gaussian_delta_bounds(e, e, mu).above, delta) << mu << ' ' << delta;
      if (e > 0) {
        EXPECT_GT(gaussian_delta(e * (1 - 1e-12), mu), delta * (1 - 1e-6)) << mu << ' ' << delta;
      }
    }
}

TEST(MillsRatio, LiesBetweenItsBounds) {
  for (double t = 0; t < 200; t += 0.37) {
    // Birnbaum and Sampford.
    const double below = 2 / (std::sqrt(t * t + 4) + t);
    const double above = 4 / (std::sqrt(t * t + 8) + 3 * t);
    EXPECT_GE(mills_ratio(t), below * (1 - 1e-14)) << t;
    EXPECT_LE(mills_ratio(t), above * (1 + 1e-14)) << t;
  }
}

}  // namespace
}  // namespace porter
