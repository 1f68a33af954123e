// SPDX-License-Identifier: Apache-2.0
#include "porter/reproduce/line_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace porter {
namespace {

TEST(StudentQuantile, AgreesWithTables) {
  // Two-sided 5 % points, from tables of the distribution, to their three digits.
  const std::pair<double, double> table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},
                                             {10, 2.228}, {30, 2.042}, {1e6, 1.960}};
  for (const auto& [freedom, t] : table)
    EXPECT_NEAR(student_quantile(0.05, freedom), t, 6e-4) << "freedom " << freedom;
}

TEST(StudentQuantile, OneDegreeIsTheCauchyDistribution) {
  // P(|T| > t) = 1 - 2 atan(t) / pi.
  for (const double alpha : {0.5, 0.1, 0.01})
    EXPECT_NEAR(student_quantile(alpha, 1), std::tan((1 - alpha) * M_PI / 2), 1e-9 / alpha)
        << alpha;
}

TEST(PowerLaw, FindsTheExponentOfExactPoints) {
  std::vector<double> x, y;
  for (const double value : {10.0, 30.0, 100.0, 1000.0}) {
    x.push_back(value);
    y.push_back(3 * std::pow(value, -0.5));
  }
  const auto law = fit_power_law(x, y);
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->slope, -0.5, 1e-12);
  EXPECT_NEAR(law->scale, 3, 1e-11);
  EXPECT_NEAR(law->high - law->low, 0, 1e-10);
  EXPECT_EQ(law->points, 4U);
}

TEST(PowerLaw, HasTheIntervalOfTheTextbook) {
  // In logarithms to base e: (0,0), (1,1), (2,1). Slope 1/2, residual sum 1/6, one degree of
  // freedom, sum of squares 2: the half width is t sqrt(1/6 / 1 / 2) with t = 12.7062.
  const std::vector<double> x = {1, std::exp(1), std::exp(2)}, y = {1, std::exp(1), std::exp(1)};
  const auto law = fit_power_law(x, y);
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->slope, 0.5, 1e-12);
  EXPECT_NEAR(law->scale, std::exp(1.0 / 6), 1e-12);
  EXPECT_NEAR((law->high - law->low) / 2, 12.7062047 * std::sqrt(1.0 / 12), 1e-6);
}

TEST(PowerLaw, NeedsThreePointsThatDiffer) {
  EXPECT_FALSE(fit_power_law(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
  EXPECT_FALSE(fit_power_law(std::vector<double>{3, 3, 3}, std::vector<double>{1, 2, 4}));
  EXPECT_FALSE(fit_power_law(std::vector<double>{}, std::vector<double>{}));
}

TEST(PowerLaw, LeavesOutWhatHasNoLogarithm) {
  const std::vector<double> x = {1, 2, 4, 8, 16, 0}, y = {1, 0.5, 0.25, NAN, -1, 5};
  const auto law = fit_power_law(x, y);
  ASSERT_TRUE(law);
  EXPECT_EQ(law->points, 3U);
  EXPECT_NEAR(law->slope, -1, 1e-12);
}

TEST(SlopeVerdict, IsDecidedByTheIntervalAlone) {
  const auto verdict = [](double low, double high, double exponent) {
    return slope_verdict({.slope = (low + high) / 2, .low = low, .high = high}, exponent);
  };
  EXPECT_EQ(verdict(-0.6, -0.4, -0.5), "agrees");
  EXPECT_EQ(verdict(-0.9, -0.7, -0.5), "steeper");
  EXPECT_EQ(verdict(-0.4, -0.2, -0.5), "flatter");
  EXPECT_EQ(verdict(0.1, 0.2, -0.5), "flatter");
  EXPECT_EQ(verdict(1.1, 1.2, 1), "steeper");
  EXPECT_EQ(verdict(-2, -1, 1), "flatter");
  EXPECT_EQ(verdict(0.1, 0.2, 0), "steeper");
  EXPECT_EQ(verdict(-3, 3, 0), "agrees");
}

}  // namespace
}  // namespace porter
