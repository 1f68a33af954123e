// SPDX-License-Identifier: Apache-2.0
#include "plan/budget_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "porter/core/error.hpp"

namespace porter {
namespace {

// The paper's network on MNIST in ten parts, ER(0.8), at a certified epsilon of 2.
PlanRequest mnist() {
  PlanRequest request;
  request.records = 6000;
  request.agents = 10;
  request.dim = 50890;
  request.alpha = 0.25;
  request.epsilon = 2;
  request.delta = 1e-5;
  return request;
}

// Full batches are quick.
PlanRequest small_budget() {
  auto request = mnist();
  request.sampler = Sampler::full;
  request.records = 60;
  request.dim = 500;
  return request;
}

// The setting of experiments/surpass-*.toml: batches of 600, 200 rounds, messages of 5 %.
BudgetChoice committed(AgentData data, std::uint32_t gossip) {
  const auto request = mnist();
  PrivacyEvent event;
  event.records = request.records;
  event.batch = 600;
  event.steps = 200;
  const double z = calibrate_noise_multiplier(event, request.epsilon, request.delta);
  PlanCell cell{.batch = event.batch, .rounds = event.steps, .bytes = {}};
  cell.sigma = z / 600;
  cell.noise_to_signal = cell.sigma * std::sqrt(5089.0);
  cell.floor = predicted_floor(request, cell.batch, cell.rounds, cell.noise_to_signal);
  return budget_choice(request, data, cell, gossip, 2544);
}

TEST(BudgetPlan, IsNotWorseThanTheCommittedSettingsForTheirBytes) {
  for (const auto& [data, gossip] : {std::pair(AgentData::alike, 1U), {AgentData::unlike, 4U}}) {
    const auto ours = committed(data, gossip);
    const auto plan = make_budget_plan(mnist(), data, *ours.cell.bytes);
    SCOPED_TRACE(testing::Message()
                 << "b = " << plan.recommended.cell.batch
                 << ", T = " << plan.recommended.cell.rounds << ", s = " << plan.recommended.gossip
                 << ", k = " << plan.recommended.kept);
    EXPECT_LE(plan.recommended.predicted(), ours.predicted());
    EXPECT_LE(*plan.recommended.cell.bytes, *ours.cell.bytes);
    EXPECT_LE(plan.epsilon, mnist().epsilon);
  }
}

// What the searches of experiments/surpass-*.toml found. At the plan's momentum the agents' loss,
// with the search's seed and step, is within half a standard deviation over seeds of what they
// found: above it by 0.0001, 0.014, 0.0045 and 0.0004, deviations 0.021, 0.060, 0.011 and 0.006.
TEST(BudgetPlan, MomentumIsNearTheSearches) {
  const struct {
    AgentData data;
    std::uint32_t gossip;
    double searched;
  } cases[] = {{AgentData::alike, 1, 0.04},
               {AgentData::unlike, 1, 0.04},
               {AgentData::unlike, 2, 0.16},
               {AgentData::unlike, 4, 0.226}};
  for (const auto& [data, gossip, searched] : cases)
    EXPECT_NEAR(std::log2(committed(data, gossip).momentum / searched), 0, 0.75)
        << "s = " << gossip;
}

// Test error of the agents over that with dense messages (experiments budget-messages,
// budget-graph, surpass-by-label; the last two with the first steps tried, which are not the best).
// The fit is within a third of each, which tells good from bad.
TEST(BudgetPlan, DisagreementFollowsWhatWasMeasured) {
  const struct {
    AgentData data;
    double alpha, sweeps, measured;
  } cases[] = {
      {AgentData::alike, 0.25, 200, 10.5 / 10.5}, {AgentData::alike, 0.25, 40, 10.5 / 10.5},
      {AgentData::alike, 0.25, 20, 10.6 / 10.5},  {AgentData::alike, 0.25, 10, 11.0 / 10.5},
      {AgentData::alike, 0.25, 4, 13.1 / 10.5},   {AgentData::alike, 0.25, 1, 19.8 / 10.5},
      {AgentData::alike, 0.826, 10, 16.8 / 10.5}, {AgentData::unlike, 0.25, 100, 10.2 / 10.2},
      {AgentData::unlike, 0.25, 40, 10.8 / 10.2}, {AgentData::unlike, 0.25, 20, 19.5 / 10.2},
      {AgentData::unlike, 0.25, 10, 47.2 / 10.2}};
  for (const auto& [data, alpha, sweeps, measured] : cases)
    EXPECT_NEAR(disagreement_factor(data, alpha, sweeps) / measured, 1, 1.0 / 3)
        << (data == AgentData::alike ? "alike" : "unlike") << ", alpha = " << alpha << ", "
        << sweeps << " sweeps";
}

TEST(BudgetPlan, KeepsTheBudgetAndMoreBytesNeverPredictWorse) {
  for (const auto data : {AgentData::alike, AgentData::unlike}) {
    double before = std::numeric_limits<double>::infinity();
    for (const double bytes : {1e3, 1e4, 1e5, 1e6, 1e8}) {
      const auto plan = make_budget_plan(small_budget(), data, bytes);
      SCOPED_TRACE(testing::Message() << bytes << " bytes");
      for (const auto& choice : plan.choices) {
        EXPECT_LE(*choice.cell.bytes, bytes);
        EXPECT_GE(choice.kept, 1U);
        EXPECT_LE(choice.kept, small_budget().dim);
        EXPECT_GE(choice.gossip, 1U);
        EXPECT_GT(choice.momentum, 0);
        EXPECT_LE(choice.momentum, 1);
      }
      double least = std::numeric_limits<double>::infinity();
      for (const auto& choice : plan.choices) least = std::min(least, choice.predicted());
      EXPECT_LE(least, before);
      EXPECT_LE(plan.recommended.predicted(), 1.1501 * least);
      before = least;
    }
  }
}

TEST(BudgetPlan, SeveralStepsPerGradientOnlyWhereOneCannotCarryTheBytes) {
  auto request = small_budget();
  request.rounds = 10;
  const auto few = make_budget_plan(request, AgentData::unlike, 10 * 2 * (4 * 400 + 4));
  EXPECT_EQ(few.recommended.gossip, 1U);
  EXPECT_EQ(few.recommended.kept, 400U);
  const auto many = make_budget_plan(request, AgentData::unlike, 10 * 3 * 2 * (4 * 500 + 4));
  EXPECT_EQ(many.recommended.gossip, 3U);
  EXPECT_EQ(many.recommended.kept, 500U);
}

TEST(BudgetPlan, WhatCannotWorkIsSaid) {
  const auto starved = make_budget_plan(small_budget(), AgentData::alike, 1000);
  ASSERT_FALSE(starved.hopeless.empty());
  EXPECT_NE(starved.hopeless.back().find("train almost alone"), std::string::npos);
  EXPECT_THROW(make_budget_plan(small_budget(), AgentData::alike, 100), Error);
  EXPECT_THROW(make_budget_plan(small_budget(), AgentData::alike, 0), Error);
  EXPECT_THROW(make_budget_plan(small_budget(), AgentData::alike, std::nan("")), Error);
}

}  // namespace
}  // namespace porter
