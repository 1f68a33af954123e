// SPDX-License-Identifier: Apache-2.0
#include "audit/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

// P(Binomial(n, p) >= k), added up.
double upper_tail(std::uint64_t k, std::uint64_t n, double p) {
  double sum = 0;
  for (auto i = k; i <= n; ++i)
    sum += std::exp(std::lgamma(double(n) + 1) - std::lgamma(double(i) + 1) -
                    std::lgamma(double(n - i) + 1) + double(i) * std::log(p) +
                    double(n - i) * std::log1p(-p));
  return sum;
}

TEST(ClopperPearson, PutsTheWholeErrorIntoTheTail) {
  for (const std::uint64_t n : {10U, 200U, 5000U})
    for (const std::uint64_t k : {1U, 3U, 7U, 10U})
      for (const double alpha : {0.05, 5e-4}) {
        SCOPED_TRACE("k=" + std::to_string(k) + " n=" + std::to_string(n));
        const double low = clopper_pearson_lower(k, n, alpha);
        EXPECT_NEAR(upper_tail(k, n, low), alpha, 1e-9 * alpha + 1e-12);
        const double high = clopper_pearson_upper(k - 1, n, alpha);
        EXPECT_NEAR(1 - upper_tail(k, n, high), alpha, 1e-10);  // the sum to one cancels
      }
}

TEST(ClopperPearson, KnowsTheClosedFormsAtTheEnds) {
  EXPECT_EQ(clopper_pearson_lower(0, 100, 0.01), 0);
  EXPECT_EQ(clopper_pearson_upper(100, 100, 0.01), 1);
  EXPECT_NEAR(clopper_pearson_upper(0, 1000, 1e-3), 1 - std::pow(1e-3, 1e-3), 1e-14);
  EXPECT_NEAR(clopper_pearson_lower(1000, 1000, 1e-3), std::pow(1e-3, 1e-3), 1e-14);
}

TEST(Statistics, KnowsTheQuantilesOfTheNormal) {
  EXPECT_NEAR(two_sided_quantile(0.05), 1.959963984540054, 1e-12);
  EXPECT_NEAR(two_sided_quantile(1e-3), 3.290526731491926, 1e-12);
}

TEST(Statistics, ChiSquareDeviationIsThatOfTheQuantile) {
  // The 97.5 % point of chi-square with 1000 degrees of freedom is 1089.53.
  EXPECT_NEAR(chi_square_deviation(1089.53, 1000), 1.95996, 1e-3);
  EXPECT_LT(chi_square_deviation(900, 1000), -2);
}

std::vector<double> normals(std::size_t n, double mean, std::uint32_t stream) {
  std::vector<double> values(n);
  RngStream(1, Draw::test, stream, 0).fill_normal(values);
  for (double& value : values) value += mean;
  return values;
}

TEST(EpsilonLowerBound, IsBelowTheTruthAndNotFarBelow) {
  // N(1, 1) against N(0, 1): epsilon = 4.38 at delta = 1e-5, 2.84 at 1e-3 (analytic Gaussian).
  for (const auto& [delta, truth] : {std::pair{1e-5, 4.377}, std::pair{1e-3, 2.838}}) {
    const auto bound =
        epsilon_lower_bound(normals(100'000, 1, 1), normals(100'000, 0, 2), delta, 0.999);
    EXPECT_LT(bound.epsilon, truth);
    EXPECT_GT(bound.epsilon, truth / 2);
    EXPECT_EQ(bound.trials, 50'000U);
  }
}

TEST(EpsilonLowerBound, FindsTheDirectionThatLeaks) {
  // Scores that D never gives but D' sometimes does.
  auto with = normals(20'000, 0, 1), without = normals(20'000, 0, 2);
  for (std::size_t i = 0; i < without.size(); i += 5) without[i] -= 20;
  const auto bound = epsilon_lower_bound(with, without, 1e-3, 0.999);
  EXPECT_FALSE(bound.above);
  EXPECT_LT(bound.threshold, -8);  // far from both
  EXPECT_EQ(bound.false_alarms, 0U);
  EXPECT_GT(bound.epsilon, 5);
}

TEST(EpsilonLowerBound, FindsNothingWhereThereIsNothing) {
  int positive = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto bound =
        epsilon_lower_bound(normals(2000, 0, 2 * i), normals(2000, 0, 2 * i + 1), 1e-5, 0.999);
    positive += bound.epsilon > 0;
  }
  EXPECT_EQ(positive, 0);  // each with probability 0.001 at most
}

}  // namespace
}  // namespace porter
