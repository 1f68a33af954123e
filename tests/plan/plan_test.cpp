// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using privacy::delta, privacy::epsilon;

// a9a in ten parts, with a promise that is worth something.
PlanRequest a9a() {
  PlanRequest request;
  request.records = 3256;
  request.agents = 10;
  request.dim = 124;
  request.alpha = 0.3;
  request.rho = 0.05;
  request.epsilon = 1;
  request.delta = 1e-5;
  return request;
}

const Plan& a9a_plan() {
  static const auto plan = make_plan(a9a());
  return plan;
}

// Few records make large sampling rates, which are quick.
PlanRequest small() {
  auto request = a9a();
  request.records = 40;
  request.epsilon = 4;
  return request;
}

PrivacyEvent event_of(const PlanRequest& request, const PlanCell& cell) {
  PrivacyEvent event;
  event.sampler = request.sampler;
  event.adjacency = request.adjacency;
  event.records = request.records;
  event.batch = cell.batch;
  event.noise_multiplier = noise_multiplier(cell.sigma, cell.batch, request.clip);
  event.steps = cell.rounds;
  return event;
}

void expect_certified_and_tight(const PlanRequest& request, const Plan& plan, std::size_t stride) {
  for (std::size_t i = 0; i < plan.cells.size(); i += stride) {
    const auto& cell = plan.cells[i];
    const auto event = event_of(request, cell);
    SCOPED_TRACE(testing::Message() << "sampler " << int(request.sampler) << ", b = " << cell.batch
                                    << ", T = " << cell.rounds << ", sigma = " << cell.sigma);
    // The accountant's grid is finer than ours; the last bits are not.
    EXPECT_LE(epsilon(event, request.delta).upper, request.epsilon * (1 + 1e-9));
    const double least = calibrate_noise_multiplier(event, request.epsilon, request.delta);
    EXPECT_LE(event.noise_multiplier, 1.01 * least);
  }
}

TEST(Plan, EveryCellKeepsEpsilonAndWastesAtMostOnePercent) {
  expect_certified_and_tight(a9a(), a9a_plan(), 11);
  for (const auto& [sampler, adjacency] : {std::pair(Sampler::fixed, Adjacency::replace),
                                           std::pair(Sampler::poisson, Adjacency::replace),
                                           std::pair(Sampler::poisson, Adjacency::add_remove),
                                           std::pair(Sampler::full, Adjacency::replace)}) {
    auto request = small();
    request.sampler = sampler;
    request.adjacency = adjacency;
    request.clip = 2;
    expect_certified_and_tight(request, make_plan(request), 7);
  }
}

TEST(Plan, ColumnsAreWhatTheyAreSaidToBe) {
  auto request = small();
  request.clip = 0.5;
  request.bytes_per_vector = 28;
  const auto plan = make_plan(request);
  for (const auto& cell : plan.cells) {
    EXPECT_NEAR(cell.noise_to_signal, std::sqrt(124.0) * cell.sigma / (0.5 * std::sqrt(10.0)),
                1e-12 * cell.noise_to_signal);
    EXPECT_EQ(cell.bytes, 2 * 28 * static_cast<double>(cell.rounds));
    EXPECT_EQ(cell.floor, predicted_floor(request, cell.batch, cell.rounds, cell.noise_to_signal));
  }
  EXPECT_FALSE(a9a_plan().cells.front().bytes.has_value());
}

TEST(Plan, SigmaScalesWithTheClipAndNothingElseDoes) {
  auto request = small();
  const auto plan = make_plan(request);
  request.clip = 4;  // a power of two: exact
  const auto larger = make_plan(request);
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    EXPECT_EQ(larger.cells[i].sigma, 4 * plan.cells[i].sigma);
    EXPECT_EQ(larger.cells[i].noise_to_signal, plan.cells[i].noise_to_signal);
  }
}

TEST(Plan, SigmaGrowsWithRoundsAndFallsWithBatchAndEpsilon) {
  const auto& plan = a9a_plan();
  auto request = a9a();
  request.epsilon = 2;
  const auto looser = make_plan(request);
  for (std::size_t i = 0; i < plan.batches.size(); ++i)
    for (std::size_t j = 0; j < plan.rounds.size(); ++j) {
      const auto& cell = plan.cell(i, j);
      SCOPED_TRACE(testing::Message() << "b = " << cell.batch << ", T = " << cell.rounds);
      EXPECT_EQ(cell.batch, plan.batches[i]);
      EXPECT_EQ(cell.rounds, plan.rounds[j]);
      EXPECT_LT(looser.cell(i, j).sigma, cell.sigma);
      if (j > 0) {
        EXPECT_GE(cell.sigma, plan.cell(i, j - 1).sigma);
      }
      if (i > 0) {
        EXPECT_LE(cell.sigma, 1.01 * plan.cell(i - 1, j).sigma);  // each is known to 1 %
      }
    }
}

TEST(Plan, ShowsPowersOfTwoTheWholeSetAndWhatIsAskedFor) {
  auto request = small();
  request.records = 100;
  request.batch = 10;
  request.rounds = 77;
  const auto plan = make_plan(request);
  EXPECT_EQ(plan.batches, (std::vector<std::size_t>{1, 2, 4, 8, 10, 16, 32, 64, 100}));
  EXPECT_EQ(plan.rounds,
            (std::vector<std::uint64_t>{30, 77, 100, 300, 1000, 3000, 10'000, 30'000, 100'000}));
  EXPECT_EQ(plan.recommended.batch, 10U);
  EXPECT_EQ(plan.recommended.rounds, 77U);

  request = a9a();
  EXPECT_EQ(make_plan(request).batches, (std::vector<std::size_t>{1, 4, 16, 64, 256, 1024, 3256}));
  request.records = 1;
  request.delta = 0.01;
  EXPECT_EQ(make_plan(request).batches, std::vector<std::size_t>{1});
}

TEST(Plan, DoesNotDependOnTheThreadsAndReportsEveryCell) {
  std::size_t calls = 0, last = 0;
  const auto count = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(done, ++calls);
    last = total;
  };
  const auto one = make_plan(small(), count, 1), three = make_plan(small(), {}, 3);
  EXPECT_EQ(calls, one.cells.size());
  EXPECT_EQ(last, one.cells.size());
  ASSERT_EQ(one.cells.size(), three.cells.size());
  for (std::size_t i = 0; i < one.cells.size(); ++i)
    EXPECT_EQ(one.cells[i].sigma, three.cells[i].sigma) << i;
  EXPECT_EQ(one.recommended.sigma, three.recommended.sigma);
}

TEST(Plan, RecommendsByTheDocumentedRule) {
  for (const double target : {1.0, 16.0}) {
    auto request = small();
    request.epsilon = target;
    const auto plan = make_plan(request);
    double least = std::numeric_limits<double>::infinity();
    for (const auto& cell : plan.cells)
      if (static_cast<double>(cell.rounds) >= plan.gossip_rounds)
        least = std::min(least, cell.floor);
    const PlanCell* best = nullptr;
    for (const auto& cell : plan.cells) {
      if (static_cast<double>(cell.rounds) < plan.gossip_rounds || cell.floor > 1.25 * least)
        continue;
      if (best == nullptr || cell.rounds < best->rounds ||
          (cell.rounds == best->rounds && cell.batch < best->batch))
        best = &cell;
    }
    ASSERT_NE(best, nullptr);
    EXPECT_EQ(plan.recommended.batch, best->batch) << target;
    EXPECT_EQ(plan.recommended.rounds, best->rounds) << target;
    // Calibrated to 1e-4 instead of 1 %.
    EXPECT_LE(plan.recommended.sigma, best->sigma * (1 + 1e-4));
    EXPECT_GE(plan.recommended.sigma, best->sigma / 1.01);
    EXPECT_LE(epsilon(event_of(request, plan.recommended), request.delta).upper, target);
  }
}

TEST(RecommendedIndex, PrefersFewRoundsThenSmallBatchesAmongEquals) {
  const auto cell = [](std::size_t batch, std::uint64_t rounds, double floor) {
    PlanCell out;
    out.batch = batch;
    out.rounds = rounds;
    out.floor = floor;
    return out;
  };
  const std::vector<PlanCell> cells = {cell(1, 10, 0.1),   cell(1, 100, 9),  cell(8, 100, 1.2),
                                       cell(4, 100, 1.24), cell(1, 1000, 1), cell(2, 50, 1.26)};
  EXPECT_EQ(recommended_index(cells, 20), 3U);  // 10 rounds are too few, 50 rounds too bad
  EXPECT_EQ(recommended_index(cells, 5), 0U);   // 10 rounds are allowed
  EXPECT_EQ(recommended_index(cells, 500), 4U);
  EXPECT_EQ(recommended_index(cells, 1e9), 4U);  // nothing is long enough: the longest
  EXPECT_THROW(recommended_index({}, 1), Error);
}

TEST(PredictedFloor, IsTheBoundWorkedOutByHand) {
  PlanRequest request;
  request.records = 100;
  request.agents = 5;
  // s^2 = 0.3^2 + (1 - 0.1) / (5 * 10) = 0.108;  2/200 + 2 sqrt(2 * 0.108 / 200) = 0.0757267
  EXPECT_NEAR(predicted_floor(request, 10, 200, 0.3), 0.0757267, 1e-7);
  // A full batch has no sampling noise: 2/8 + 2 sqrt(2 * 0.25 / 8) = 0.75
  EXPECT_NEAR(predicted_floor(request, 100, 8, 0.5), 0.75, 1e-12);
}

}  // namespace
}  // namespace porter
