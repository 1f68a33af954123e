// SPDX-License-Identifier: Apache-2.0
#include "algo/round_clock.hpp"

#include <gtest/gtest.h>

#include "porter/core/rng.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

const std::vector<std::uint32_t> kAll = {0, 1, 2};
// A path 0 - 1 - 2.
const std::vector<std::vector<MixingWeight>> kPath = {
    {{0, -.5}, {1, .5}}, {{0, .5}, {1, -1}, {2, .5}}, {{1, .5}, {2, -.5}}};

TEST(RoundClock, WaitsForTheSlowestMessageOfNeighbours) {
  RoundClock clock({.latency = 1, .bandwidth = 10, .compute = 2}, 3, 1, 1);
  const std::vector<std::uint64_t> bytes = {100, 20, 0};
  // 0: 2, or 2 + 2 + 1 from 1; 1: 2 + 10 + 1 from 0; 2: 2 + 2 + 1 from 1.
  EXPECT_EQ(clock.step(1, kAll, kPath, bytes), 13);
  // 0 at 5: 7, or 13 + 2 + 2 + 1 from 1 = 18; 1: 15, or 5 + 2 + 10 + 1 = 18; 2: 18.
  EXPECT_EQ(clock.step(2, kAll, kPath, bytes), 18);
}

TEST(RoundClock, MessagesThatNeedNoGradientTravelMeanwhile) {
  RoundClock clock({.latency = 1, .compute = 2, .overlaps = true}, 3, 1, 1);
  EXPECT_EQ(clock.step(1, kAll, kPath, std::vector<std::uint64_t>(3)), 2);
}

TEST(RoundClock, FurtherGossipStepsTakeNoGradient) {
  RoundClock clock({.latency = 1, .compute = 2}, 3, 1, 2);
  const std::vector<std::uint64_t> none(3);
  EXPECT_EQ(clock.step(1, kAll, kPath, none), 3);
  EXPECT_EQ(clock.step(2, kAll, kPath, none), 4);
  EXPECT_EQ(clock.step(3, kAll, kPath, none), 7);
}

TEST(RoundClock, NobodyWaitsForWhoIsAbsent) {
  RoundClock clock({.compute = 1}, 3, 1, 1);
  const std::vector<std::uint64_t> none(3);
  EXPECT_EQ(clock.step(1, std::vector<std::uint32_t>{}, {}, none), 0);
  const std::vector<std::vector<MixingWeight>> pair = {
      {{0, -.5}, {1, .5}}, {{0, .5}, {1, -.5}}, {}};
  EXPECT_EQ(clock.step(2, std::vector<std::uint32_t>{0, 1}, pair, none), 1);
  EXPECT_EQ(clock.step(3, kAll, kPath, none), 2);  // agent 2 begins with the others
}

// compute (1 + straggling E) has the mean compute (1 + straggling) and is never below compute.
TEST(RoundClock, StragglersHaveTheirMean) {
  RoundClock clock({.compute = 2, .straggling = 0.5}, 1, 9, 1);
  const std::vector<std::uint32_t> alone = {0};
  const std::vector<std::vector<MixingWeight>> nobody(1);
  double last = 0;
  for (std::uint32_t round = 1; round <= 4000; ++round) {
    const double now = clock.step(round, alone, nobody, std::vector<std::uint64_t>(1));
    EXPECT_GE(now - last, 2);
    last = now;
  }
  EXPECT_NEAR(last / 4000, 3, 0.07);  // four standard deviations of 1 / sqrt(4000)
}

TEST(RoundClock, CountsTheBytesOfEveryCopy) {
  const ToyNetwork network{
      .compressor = "random_k:k=2", .pace = Pace{.bandwidth = 1}, .algorithm = "choco-sgd"};
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 10; ++round) toy->algorithm->step(round);
  const auto& traffic = toy->algorithm->traffic();
  EXPECT_EQ(traffic.seconds, 10 * 2 * (2 * 4 + 4));  // two neighbours; two floats and a checksum
  EXPECT_EQ(traffic.seconds * 6, static_cast<double>(traffic.link_bytes));
}

}  // namespace
}  // namespace porter
