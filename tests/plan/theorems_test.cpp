// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "plan/plan.hpp"

namespace porter {
namespace {

// Chosen so that phi_m = sqrt(100 * 4) / (200 * 2) = 0.05, T = 400, and the powers are simple.
PlanRequest round_numbers() {
  PlanRequest request;
  request.records = 200;
  request.agents = 4;
  request.dim = 100;
  request.alpha = 0.875;  // (1 - alpha)^(8/3) = 2^-8
  request.rho = 0.125;    // rho^(4/3) = 2^-4
  request.epsilon = 2;
  request.delta = std::exp(-4.0);
  return request;
}

std::map<std::string, SideCondition> by_text(const std::vector<SideCondition>& conditions) {
  std::map<std::string, SideCondition> map;
  for (const auto& condition : conditions) map[condition.text] = condition;
  return map;
}

TEST(TheoremOrders, AreThoseOfThePaperWorkedOutByHand) {
  const auto orders = theorem_orders(round_numbers());
  EXPECT_NEAR(orders.phi, 0.05, 1e-15);
  EXPECT_NEAR(orders.rounds, 400, 1e-10);
  EXPECT_NEAR(orders.gamma, 1.0 / 64, 1e-17);
  EXPECT_NEAR(orders.eta, 0.05 / 4096, 1e-17);  // (1/64)^(4/3) (1/8)^(4/3) = 2^-8 2^-4
  EXPECT_NEAR(orders.bound, 0.05 * 4096, 1e-9);
  EXPECT_NEAR(orders.clip, 365 * 4096 * std::sqrt(0.05), 1e-6);
}

TEST(SideConditions, AreComparedAsThePaperStatesThem) {
  auto request = round_numbers();
  const auto at = by_text(side_conditions(request, 1, 400));
  ASSERT_EQ(at.size(), 6U);
  EXPECT_TRUE(at.at("b = 1").holds);
  EXPECT_FALSE(at.at("epsilon <= T / m^2").holds);
  EXPECT_NEAR(at.at("epsilon <= T / m^2").right, 0.01, 1e-15);
  EXPECT_FALSE(at.at("sigma_p >= tau").holds);
  EXPECT_NEAR(at.at("sigma_p >= tau").left, 0.1, 1e-12);  // sqrt(400 * 4) / 400
  EXPECT_TRUE(at.at("phi_m < 1").holds);
  EXPECT_TRUE(at.at("T = phi_m^-2").holds);

  const auto later = by_text(side_conditions(request, 2, 80'000));
  EXPECT_FALSE(later.at("b = 1").holds);
  EXPECT_TRUE(later.at("epsilon <= T / m^2").holds);  // 2 <= 2
  EXPECT_TRUE(later.at("sigma_p >= tau").holds);      // sqrt(80000 * 4) / 400 = 1.41
  EXPECT_FALSE(later.at("T = phi_m^-2").holds);

  request.clip = 365 * 4096;
  const auto wide = by_text(side_conditions(request, 1, 400));
  EXPECT_TRUE(wide.at("tau >= 365 rho^-4/3 (1-alpha)^-8/3 phi_m^1/2").holds);
}

// sigma_p = tau / sqrt(d) there, and epsilon <= T / m^2 becomes epsilon >= d log(1/delta).
TEST(SideConditions, OfTheoremOneFailAtTheRoundsOfTheoremTwo) {
  for (const double epsilon : {0.01, 1.0, 30.0})
    for (const std::size_t dim : {2, 100, 50'000}) {
      auto request = round_numbers();
      request.epsilon = epsilon;
      request.dim = dim;
      request.delta = 1e-9;
      const auto at = by_text(side_conditions(request, 1, theorem_orders(request).rounds));
      EXPECT_FALSE(at.at("epsilon <= T / m^2").holds) << epsilon << ' ' << dim;
      EXPECT_FALSE(at.at("sigma_p >= tau").holds) << epsilon << ' ' << dim;
      EXPECT_NEAR(at.at("sigma_p >= tau").left * std::sqrt(double(dim)), 1, 1e-12);
    }
}

}  // namespace
}  // namespace porter
