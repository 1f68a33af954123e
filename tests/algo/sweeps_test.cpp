// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "algo/sweep_mask.hpp"
#include "core/vector_math.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

double swept_distance(std::span<const double> a, std::span<const double> b) {
  return std::sqrt(squared_distance(a, b));
}

// sum_i |x_i - mean|^2
double disagreement(const Rows& X) {
  double sum = 0;
  for (std::size_t i = 0; i < X.agents(); ++i) sum += squared_distance(X.row(i), mean_row(X));
  return sum;
}

TEST(SweepMask, EverySweepVisitsEveryCoordinateOnce) {
  for (const std::size_t dim : {1U, 7U, 40U, 1000U})
    for (const std::size_t kept : {std::size_t{1}, (dim + 2) / 3, dim}) {
      SweepMask mask(3, dim, kept);
      const auto blocks = static_cast<std::uint32_t>((dim + kept - 1) / kept);
      for (std::uint32_t sweep = 0; sweep < 4; ++sweep) {
        std::set<std::uint32_t> seen;
        for (std::uint32_t block = 1; block <= blocks; ++block) {
          const auto positions = mask.positions(sweep * blocks + block);
          EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
          EXPECT_LE(positions.size(), kept);
          seen.insert(positions.begin(), positions.end());
        }
        EXPECT_EQ(seen.size(), dim) << dim << " " << kept << " sweep " << sweep;
        EXPECT_EQ(*seen.rbegin(), dim - 1);
      }
    }
}

// A last block of a few coordinates would cost a gossip step for nothing.
TEST(SweepMask, BlocksAreAsEqualAsTheyCanBe) {
  for (const std::size_t dim : {1U, 7U, 40U, 1000U, 50'890U})
    for (const std::size_t kept : {std::size_t{1}, (dim + 2) / 3, dim / 20 + 1, dim}) {
      SweepMask mask(3, dim, kept);
      const std::size_t blocks = (dim + kept - 1) / kept, size = (dim + blocks - 1) / blocks;
      for (std::uint32_t block = 1; block <= blocks; ++block)
        EXPECT_EQ(mask.positions(block).size(), block < blocks ? size : dim - (blocks - 1) * size)
            << dim << " " << kept << " block " << block;
    }
  SweepMask paper(1, 50'890, 2'544);
  EXPECT_EQ(paper.positions(1).size(), 2'424);
  EXPECT_EQ(paper.positions(21).size(), 2'410);
}

TEST(SweepMask, AStepIsAFunctionOfTheSeedAndTheStep) {
  SweepMask straight(5, 50, 8), jumping(5, 50, 8), other(6, 50, 8);
  std::vector<std::vector<std::uint32_t>> steps;
  bool differs = false;
  for (std::uint32_t step = 1; step <= 30; ++step) {
    const auto positions = straight.positions(step);
    steps.emplace_back(positions.begin(), positions.end());
    const auto another = other.positions(step);
    differs |= !std::equal(positions.begin(), positions.end(), another.begin(), another.end());
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(steps[0], steps[7]);  // seven blocks
  EXPECT_NE(steps[0], steps[1]);
  for (const std::uint32_t step : {30U, 1U, 17U, 2U}) {
    const auto positions = jumping.positions(step);
    EXPECT_EQ(steps[step - 1], std::vector<std::uint32_t>(positions.begin(), positions.end()));
  }
}

// From the positions alone: in which round before `round` the coordinate was visited last.
std::uint32_t last_round_before(std::uint32_t round, std::uint32_t position, std::uint32_t s,
                                const SweepMask& mask) {
  for (std::uint32_t step = (round - 1) * s; step > 0; --step) {
    const auto visited = mask.positions(step);
    if (std::ranges::find(visited, position) != visited.end()) return (step - 1) / s + 1;
  }
  return 0;
}

TEST(SweepMask, CountsTheRoundsSinceAnEarlierOneThatVisited) {
  const SweepMask mask(3, 20, 4);
  for (const std::uint32_t s : {1U, 2U, 4U, 7U, 12U})
    for (std::uint32_t step = 1; step <= 25 * s; ++step) {
      const auto round = (step - 1) / s + 1;
      for (const auto j : mask.positions(step))
        ASSERT_EQ(mask.rounds_since_visit(step, s), round - last_round_before(round, j, s, mask))
            << s << " steps a round, step " << step;
    }
}

TEST(SweepMask, WhatIsDenseIsInEveryBlockAndTheOthersInOne) {
  const std::vector<std::uint32_t> dense = {0, 3, 4, 19};
  SweepMask mask(3, 20, 5, dense);
  EXPECT_EQ(mask.steps(), 4U);  // 16 others, 5 at a time
  for (std::uint32_t sweep = 0; sweep < 4; ++sweep) {
    std::vector<int> visits(20, 0);
    for (std::uint32_t block = 1; block <= mask.steps(); ++block) {
      const auto positions = mask.positions(sweep * mask.steps() + block);
      EXPECT_EQ(positions.size(), 4 + dense.size());
      EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
      for (const auto j : positions) ++visits[j];
    }
    for (std::uint32_t j = 0; j < 20; ++j)
      EXPECT_EQ(visits[j], std::ranges::binary_search(dense, j) ? 4 : 1) << j;
  }
}

TEST(SweepMask, RefusesToHaveNothingToWalkThrough) {
  EXPECT_THROW(SweepMask(3, 2, 1, {0, 1}), Error);
}

const std::vector<std::string> kSweepMethods = {"porter-sweep", "sweep-led"};

ToyNetwork sweep_network(const std::string& algorithm) {
  return {.graph = "erdos-renyi:0.6",
          .compressor = "random_k:0.3",
          .algorithm = algorithm,
          .clip_target = ClipTarget::sample,
          .noise_stddev = 0.2,
          .momentum = 0.3,
          .gossip = 2};
}

// `gossip` steps a round, of 4 that a sweep takes. What is mixed wrongly by rounding is divided by
// eta where a method learns from it.
void expect_averaged_sgd(const std::string& algorithm, std::uint32_t gossip,
                         Acceleration acceleration) {
  const double rounding = algorithm == "sweep-led" ? 1e-12 : 1e-13;
  auto network = sweep_network(algorithm);
  network.gossip = gossip;
  network.acceleration = acceleration;
  const auto toy = network.build();
  auto expected = mean_row(toy->algorithm->iterates());
  // What the estimator of a fresh object cannot know is the low-pass: M = (1 - beta) M + beta G.
  auto plain = toy->gradients;
  plain.momentum = 1;
  GradientEstimator gradients({*toy->model, toy->data, 6}, plain, toy->pool);
  std::vector<double> mean_M(expected.size(), 0.0);
  Rows G(6, expected.size());
  for (std::uint32_t round = 1; round <= 300; ++round) {
    gradients.estimate(toy->algorithm->iterates(), round, G);
    toy->algorithm->step(round);
    scale(0.7, mean_M);
    axpy(0.3, mean_row(G), mean_M);
    axpy(-0.1, mean_M, expected);  // eta of the toy
    ASSERT_LT(*toy->algorithm->tracking_error(), rounding) << round;
    ASSERT_LT(swept_distance(mean_row(toy->algorithm->iterates()), expected), 1e-11) << round;
  }
}

TEST(Sweeps, TheAverageFollowsAveragedSgdWithMomentum) {
  for (const auto& algorithm : kSweepMethods)
    for (const std::uint32_t gossip : {1U, 2U, 6U, 9U})
      for (const auto acceleration : all_choices<Acceleration>()) {
        SCOPED_TRACE(concat(algorithm, ", ", gossip, " steps, ", choice_text(acceleration)));
        expect_averaged_sgd(algorithm, gossip, acceleration);
      }
}

// On every block W is applied exactly, so a whole sweep contracts by alpha, up to the rounding of
// what is sent to float.
TEST(Sweeps, AWholeSweepContractsTheDisagreementByAlpha) {
  for (const auto& algorithm : kSweepMethods) {
    SCOPED_TRACE(algorithm);
    auto network = sweep_network(algorithm);
    network.eta = 1e-300;
    network.gossip = 4;  // 7 coordinates, 2 at a time
    const auto toy = network.build();
    for (const auto& [name, rows, copied] : toy->algorithm->state())
      if (name == "X")
        for (std::uint32_t i = 0; i < toy->algorithm->iterates().agents(); ++i)
          RngStream(1, Draw::test, i, 0).fill_normal(std::get<Rows*>(rows)->row(i));
    const double before = disagreement(toy->algorithm->iterates());
    const auto mean = mean_row(toy->algorithm->iterates());
    toy->algorithm->step(1);
    const double after = disagreement(toy->algorithm->iterates());
    const double alpha = toy->network.mixing.alpha;
    EXPECT_LE(after, alpha * alpha * before * (1 + 1e-5));
    EXPECT_GT(after, 0);
    EXPECT_LT(swept_distance(mean_row(toy->algorithm->iterates()), mean), 1e-14);
  }
}

TEST(Sweeps, RefuseACompressorThatKeepsNoFixedNumber) {
  for (const auto& algorithm : kSweepMethods) {
    auto network = sweep_network(algorithm);
    network.compressor = "qsgd:4";
    try {
      network.build();
      ADD_FAILURE() << algorithm;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    }
  }
}

}  // namespace
}  // namespace porter
