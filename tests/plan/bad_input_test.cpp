// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "plan/plan.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

PlanRequest good() {
  PlanRequest request;
  request.records = 500;
  request.agents = 8;
  request.dim = 20;
  request.alpha = 0.5;
  request.rho = 0.5;
  request.epsilon = 3;
  request.delta = 1e-5;
  request.sampler = Sampler::full;  // analytic, so that the tests are quick
  return request;
}

bool says(const std::vector<std::string>& texts, const std::string& part) {
  for (const auto& text : texts)
    if (text.find(part) != std::string::npos) return true;
  return false;
}

template <class Change>
void expect_refused(const Change& change, const std::string& name) {
  auto request = good();
  change(request);
  try {
    make_plan(request);
    ADD_FAILURE() << "not refused: " << name;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << name;
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

TEST(PlanInput, RefusesValuesOutOfRangeByName) {
  for (const double bad : {0.0, -1.0, kNan, kInfinity}) {
    expect_refused([&](auto& r) { r.epsilon = bad; }, "epsilon");
    expect_refused([&](auto& r) { r.delta = bad; }, "delta");
    expect_refused([&](auto& r) { r.clip = bad; }, "clip");
    expect_refused([&](auto& r) { r.rho = bad; }, "rho");
    expect_refused([&](auto& r) { r.bytes_per_vector = bad; }, "bytes");
  }
  for (const double bad : {-0.1, 1.0, 2.0, kNan, kInfinity})
    expect_refused([&](auto& r) { r.alpha = bad; }, "alpha");
  expect_refused([](auto& r) { r.rho = 1.0001; }, "rho");
  expect_refused([](auto& r) { r.delta = 1; }, "delta");
  expect_refused([](auto& r) { r.records = 0; }, "records");
  expect_refused([](auto& r) { r.agents = 0; }, "agents");
  expect_refused([](auto& r) { r.dim = 0; }, "dimension");
  expect_refused([](auto& r) { r.sampler = Sampler::fixed, r.batch = 0; }, "batch");
  expect_refused([](auto& r) { r.sampler = Sampler::fixed, r.batch = 501; }, "batch");
  expect_refused([](auto& r) { r.rounds = 0; }, "rounds");
  expect_refused([](auto& r) { r.rounds = 10'000'001; }, "rounds");
  expect_refused([](auto& r) { r.batch = 7; }, "batch");
  expect_refused([](auto& r) { r.sampler = Sampler::fixed, r.adjacency = Adjacency::add_remove; },
                 "fixed size");
}

TEST(PlanInput, AcceptsTheEndsOfTheRanges) {
  auto request = good();
  request.alpha = 0;
  request.rho = 1;
  request.batch = 500;
  request.rounds = 1;
  const auto plan = make_plan(request);
  EXPECT_EQ(plan.gossip_rounds, 1);
  EXPECT_EQ(plan.recommended.rounds, 1U);
  EXPECT_TRUE(plan.hopeless.empty());
}

TEST(PlanInput, NeedsAWordForALargeDeltaAndCallsItHopeless) {
  expect_refused([](auto& r) { r.delta = 1.0 / 500; }, "1/m");
  auto request = good();
  request.delta = 1.0 / 500;
  request.allow_large_delta = true;
  EXPECT_TRUE(says(make_plan(request).hopeless, "delta"));
  // Not even noise is needed when a record is hardly ever used.
  request.delta = 0.5;
  request.sampler = Sampler::fixed;
  EXPECT_THROW(make_plan(request), Error);
}

TEST(PlanVerdict, WarnsAboutAWeakDelta) {
  auto request = good();
  request.delta = 0.5 / 500;
  EXPECT_TRUE(says(make_plan(request).notes, "weak promise"));
  request.delta = 0.05 / 500;
  EXPECT_FALSE(says(make_plan(request).notes, "weak promise"));
}

TEST(PlanVerdict, CallsNoiseAboveTheSignalHopeless) {
  auto request = good();
  EXPECT_TRUE(make_plan(request).hopeless.empty());
  request.dim = 10'000'000;
  const auto plan = make_plan(request);
  EXPECT_TRUE(says(plan.hopeless, "above the signal"));
  EXPECT_TRUE(says(plan.hopeless, "phi_m"));
  EXPECT_TRUE(says(plan.notes, "predicted floor"));
  for (const auto& cell : plan.cells) EXPECT_GT(cell.noise_to_signal, 1);
}

// phi_m compares one agent's noise, noise-to-signal that of the average: they are two verdicts.
TEST(PlanVerdict, CallsALargePhiHopelessAlsoWhereManyAgentsAverageTheNoise) {
  auto request = good();
  request.dim = 300'000;
  request.agents = 100'000;
  const auto plan = make_plan(request);
  EXPECT_GE(plan.orders.phi, 1);
  EXPECT_TRUE(says(plan.hopeless, "phi_m"));
  EXPECT_FALSE(says(plan.hopeless, "above the signal"));
}

TEST(PlanVerdict, SaysWhenTheGossipIsTooSlowForTheRounds) {
  auto request = good();
  EXPECT_FALSE(says(make_plan(request).notes, "gossip"));
  request.alpha = 0.99;
  request.rounds = 1000;  // 1 / (0.01^2 * 0.5) = 20000
  EXPECT_TRUE(says(make_plan(request).notes, "gossip"));
  request.rounds = {};
  EXPECT_GE(make_plan(request).recommended.rounds, 20'000U);
  request.alpha = 0.997;  // 222222: more than the table has
  EXPECT_EQ(make_plan(request).recommended.rounds, 222'223U);
}

TEST(PlanVerdict, SaysWhatPoissonSamplingWouldSave) {
  auto request = good();
  request.batch = 50;
  request.rounds = 100;
  request.sampler = Sampler::poisson;
  const auto poisson = make_plan(request);
  EXPECT_FALSE(says(poisson.notes, "Poisson sampling"));
  request.sampler = Sampler::fixed;
  const auto fixed = make_plan(request);
  EXPECT_LT(poisson.recommended.sigma, 0.99 * fixed.recommended.sigma);
  EXPECT_TRUE(says(fixed.notes, "less noise there, sigma = " + concat(poisson.recommended.sigma)));
  request.batch = 500;  // all records: there is nothing to save
  EXPECT_FALSE(says(make_plan(request).notes, "Poisson sampling"));
}

}  // namespace
}  // namespace porter
