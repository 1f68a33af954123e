// SPDX-License-Identifier: Apache-2.0
#include "reproduce/line_fit.hpp"

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

// Local slopes -2.2, -1.2, -0.2 and 0 at x = 1, 2, 4, 8, 16, as BEER's norms have them in rho;
// seeds differ by a factor of up to `spread` either way.
std::vector<Replicates> bent(double spread, int seeds) {
  std::vector<Replicates> values;
  double level = 0;
  const double slopes[] = {0, -2.2, -1.2, -0.2, 0};
  for (int j = 0; j < 5; ++j) {
    level += slopes[j] * std::log(2.0);
    auto& value = values.emplace_back();
    for (int seed = 0; seed < seeds; ++seed) {
      const double place = seeds == 1 ? 0 : 2.0 * seed / (seeds - 1) - 1;
      value.x.push_back(std::pow(2.0, j));
      value.y.push_back(std::exp(level + place * std::log(spread)));
    }
  }
  return values;
}

Linearity linearity(const std::vector<Replicates>& values) {
  Replicates all;
  for (const auto& value : values) {
    all.x.insert(all.x.end(), value.x.begin(), value.x.end());
    all.y.insert(all.y.end(), value.y.begin(), value.y.end());
  }
  return test_line(values, fit_power_law(all.x, all.y).value());
}

TEST(TestLine, ABentLineHasLocalSlopesAndDoesNotFit) {
  const auto line = linearity(bent(1.1, 5));
  ASSERT_EQ(line.local_slopes.size(), 4U);
  const double expected[] = {-2.2, -1.2, -0.2, 0};
  for (int j = 0; j < 4; ++j) EXPECT_NEAR(line.local_slopes[j], expected[j], 1e-12) << j;
  ASSERT_TRUE(line.p);
  EXPECT_LT(*line.p, 1e-6);
  EXPECT_FALSE(line.fits(-2.0 / 3));
}

TEST(TestLine, WhatTheSeedsExplainIsNoBend) {
  const auto line = linearity(bent(20, 5));
  EXPECT_GT(*line.p, 0.05);
  EXPECT_TRUE(line.fits(-2.0 / 3));
}

TEST(TestLine, OneSeedCannotExcuseABend) {
  const auto line = linearity(bent(1, 1));
  EXPECT_FALSE(line.p);
  EXPECT_FALSE(line.fits(-2.0 / 3));
}

TEST(TestLine, ASlightBendFitsHoweverCertain) {
  // Slopes -1.00 and -1.02, seeds within 1e-6.
  std::vector<Replicates> values;
  for (const auto& [x, y] : {std::pair{1.0, 1.0}, {2.0, 0.5}, {4.0, 0.5 * std::pow(2, -1.02)}})
    values.push_back({.x = {x, x}, .y = {y, y * (1 + 1e-6)}});
  const auto line = linearity(values);
  EXPECT_LT(*line.p, 1e-3);
  EXPECT_TRUE(line.fits(-0.5));
  EXPECT_FALSE(line.fits(-0.03)) << "beside such an exponent it is not slight";
}

TEST(TestLine, HasTheLackOfFitOfTheTextbook) {
  // In logarithms: (0; -1, 1), (1; 2, 4), (2; -1, 1). The line is flat at 1. Lack of fit
  // 2 (1 + 4 + 1) = 12 with 1 degree of freedom, pure error 6 with 3: F = 6.
  // P(F(1, 3) > 6) = P(|T(3)| > sqrt(6)) = 0.0917, as t = 2.3534 has 0.1 and 3.1824 has 0.05.
  std::vector<Replicates> values;
  const double e = std::exp(1);
  values.push_back({.x = {1, 1}, .y = {1 / e, e}});
  values.push_back({.x = {e * e, e * e}, .y = {1 / e, e}});  // not in order
  values.push_back({.x = {e, e}, .y = {e * e, e * e * e * e}});
  const auto line = linearity(values);
  EXPECT_NEAR(student_quantile(*line.p, 3), std::sqrt(6), 1e-9);
  EXPECT_NEAR(line.local_slopes[0], 3, 1e-12);
  EXPECT_NEAR(line.local_slopes[1], -3, 1e-12);
}

TEST(TestLine, TwoValuesAreNoLine) {
  // The third has the x of the second.
  const std::vector<Replicates> values = {
      {{1, 1}, {1, 1.1}}, {{2, 2}, {2, 2.1}}, {{2, 2}, {2.2, NAN}}};
  const auto line = linearity(values);
  EXPECT_EQ(line.local_slopes.size(), 1U);
  EXPECT_FALSE(line.p);
  EXPECT_FALSE(line.fits(1));
}

}  // namespace
}  // namespace porter
