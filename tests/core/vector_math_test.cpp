// SPDX-License-Identifier: Apache-2.0
#include "core/vector_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

TEST(Exp, IsWithinTwoUnitsInTheLastPlace) {
  std::vector<double> x;
  for (double t = -700; t <= 700; t += 0.37) x.push_back(t);
  for (double t = -1; t <= 1; t += 0.0037) x.push_back(t);
  auto y = x;
  exp_in_place(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]));
    const double unit = std::nextafter(y[i], INFINITY) - y[i];
    EXPECT_LE(std::abs(static_cast<double>(static_cast<long double>(y[i]) - exact)), 2 * unit)
        << x[i];
  }
}

TEST(Exp, KeepsItsLimitsAndNaN) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> x = {inf, -inf, 1e9, -1e9, std::nan(""), 0, -0.0};
  exp_in_place(x);
  EXPECT_GT(x[0], 1e307);
  EXPECT_LT(x[1], 1e-307);
  EXPECT_EQ(x[2], x[0]);
  EXPECT_EQ(x[3], x[1]);
  EXPECT_TRUE(std::isnan(x[4]));
  EXPECT_EQ(x[5], 1);
  EXPECT_EQ(x[6], 1);
}

TEST(Exp, InFloatIsWithinTwoUnitsInTheLastPlace) {
  std::vector<float> x;
  for (float t = -87; t <= 87; t += 0.037F) x.push_back(t);
  for (float t = -1; t <= 1; t += 0.0037F) x.push_back(t);
  auto y = x;
  exp_in_place(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double unit = double{std::nextafter(y[i], INFINITY)} - double{y[i]};
    EXPECT_LE(std::abs(double{y[i]} - std::exp(double{x[i]})), 2 * unit) << x[i];
  }
  std::vector<float> ends = {INFINITY, -INFINITY, 1e9F, std::nanf(""), 0};
  exp_in_place(ends);
  EXPECT_GT(ends[0], 1e37F);
  EXPECT_LT(ends[1], 1e-37F);
  EXPECT_EQ(ends[2], ends[0]);
  EXPECT_TRUE(std::isnan(ends[3]));
  EXPECT_EQ(ends[4], 1);
}

TEST(Exp, OfOneNumberHasTheBitsOfTheVector) {
  std::vector<double> x = {INFINITY, -INFINITY, 0, -0.0, 1e-300, 0.3, -0.3, 42, -745};
  for (double t = -40; t <= 40; t += 0.37) x.push_back(t);
  auto y = x;
  exp_in_place(y);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(exact_exp(x[i]), y[i]) << x[i];
  EXPECT_TRUE(std::isnan(exact_exp(NAN)));
}

template <class Real>
void expect_tanh_within_four_units() {
  std::vector<Real> x;
  for (double t = -25; t <= 25; t += 0.0037) x.push_back(static_cast<Real>(t));
  for (double t = 1; t > 1e-30; t *= 0.83) x.push_back(static_cast<Real>(t));
  for (std::size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  auto y = x;
  tanh_in_place(std::span<Real>(y));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto exact = std::tanh(static_cast<long double>(x[i]));
    const auto size = std::abs(y[i]);
    const auto unit = static_cast<long double>(std::nextafter(size, Real{2}) - size);
    EXPECT_LE(std::abs(static_cast<long double>(y[i]) - exact), 4 * unit) << double{x[i]};
  }
  std::vector<Real> ends = {INFINITY, -INFINITY, Real{1e9}, NAN, 0, Real{-0.0}};
  tanh_in_place(std::span<Real>(ends));
  EXPECT_EQ(ends[0], 1);
  EXPECT_EQ(ends[1], -1);
  EXPECT_EQ(ends[2], 1);
  EXPECT_TRUE(std::isnan(ends[3]));
  EXPECT_EQ(ends[4], 0);
  EXPECT_EQ(ends[5], 0);
}

TEST(Tanh, IsWithinFourUnitsInTheLastPlace) {
  expect_tanh_within_four_units<double>();
  expect_tanh_within_four_units<float>();
}

// The order of the sums is part of the contract: eight partial sums, added in pairs.
TEST(Dot, AddsInItsOrderWhateverTheVectors) {
  for (const std::size_t n : {0, 1, 7, 8, 9, 100, 1001}) {
    SCOPED_TRACE(n);
    std::vector<double> a(n), b(n);
    RngStream rng(1, Draw::test, 0, 0);
    rng.fill_normal(a);
    rng.fill_normal(b);
    double s[8] = {}, d[8] = {};
    for (std::size_t i = 0; i < n; ++i) {
      s[i % 8] += a[i] * b[i];
      d[i % 8] += (a[i] - b[i]) * (a[i] - b[i]);
    }
    EXPECT_EQ(dot(a, b), ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])));
    EXPECT_EQ(squared_distance(a, b),
              ((d[0] + d[1]) + (d[2] + d[3])) + ((d[4] + d[5]) + (d[6] + d[7])));
  }
}

}  // namespace
}  // namespace porter
