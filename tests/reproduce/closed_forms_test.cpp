// SPDX-License-Identifier: Apache-2.0
#include "reproduce/closed_forms.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "porter/core/error.hpp"

namespace porter {
namespace {

TEST(ClippingReport, DrawsBothOperators) {
  const auto report = clipping_report();
  const auto& series = report.figures[0].plot.series;
  ASSERT_EQ(series.size(), 2U);
  for (std::size_t i = 0; i < series[0].x.size(); ++i) {
    const double x = series[0].x[i];
    // Clip allows for a norm that was computed 1e-10 too short.
    EXPECT_NEAR(series[0].y[i], x / (1 + x), 2e-10) << x;
    EXPECT_NEAR(series[1].y[i], std::min(x, 1.0), 2e-10) << x;
  }
}

TEST(UtilityOrders, AreTheFormulasOfTable1) {
  // phi = sqrt(d log(1/delta)) / (m epsilon) = 0.1 for these values.
  const OrdersRequest request{.records = 1000,
                              .agents = 4,
                              .dim = 100 / std::log(1 / 0.01),
                              .epsilon = 0.1,
                              .delta = 0.01,
                              .alpha = 0.5,
                              .rho = 0.125,
                              .omega = 3};
  const auto rows = utility_orders(request);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_NEAR(rows[0].utility, 0.1, 1e-12);
  EXPECT_NEAR(rows[1].utility, 0.025, 1e-12);
  EXPECT_NEAR(*rows[1].communication, 160 * request.dim, 1e-9);
  EXPECT_NEAR(rows[2].utility, 3 * 0.1, 1e-12) << "theta = 8 / 2, (1 + 2) sqrt(4 / 4) phi";
  EXPECT_NEAR(*rows[2].communication, 30 * request.dim, 1e-9);
  EXPECT_NEAR(rows[3].utility, 0.1 * std::pow(2, 8.0 / 3) * 16, 1e-9);
  EXPECT_NEAR(*rows[3].communication, 100, 1e-9);
  EXPECT_NEAR(rows[4].utility, 0.1 * std::pow(2, 16.0 / 3) * 256, 1e-8);
}

TEST(UtilityOrders, NameWhatIsOutOfRange) {
  const auto expect = [](const OrdersRequest& request, const std::string& name) {
    try {
      utility_orders(request);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind(name + ":", 0), 0U) << error.what();
    }
  };
  expect({.records = 0}, "m");
  expect({.agents = NAN}, "n");
  expect({.epsilon = 0}, "epsilon");
  expect({.delta = 1}, "delta");
  expect({.alpha = 1}, "alpha");
  expect({.rho = 0}, "rho");
  expect({.omega = -1}, "omega");
}

TEST(OrdersReport, WarnsWherePhiIsNotBelowOne) {
  EXPECT_TRUE(orders_report({}).warnings.empty());
  EXPECT_EQ(orders_report({.epsilon = 0.001}).warnings.size(), 1U);
}

TEST(PrivacyReport, HoldsThePapersClaims) {
  const auto claims = paper_claims();
  ASSERT_EQ(claims.size(), 16U);
  // From docs/privacy.md: a9a at a claimed 0.1 and 1000 rounds is worth 77.6 to 78.0.
  EXPECT_NEAR(claims[4].epsilon.lower, 77.64, 0.01);
  EXPECT_NEAR(claims[4].epsilon.upper, 77.96, 0.01);
  EXPECT_TRUE(claims[4].broken());
  EXPECT_FALSE(claims[0].broken());
  for (const auto& claim : claims) EXPECT_LE(claim.epsilon.lower, claim.epsilon.upper);
}

}  // namespace
}  // namespace porter
