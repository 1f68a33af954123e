// SPDX-License-Identifier: Apache-2.0
// The same algorithm code with its agents in one process and spread over several: the same bits.
#include "comm/exchange.hpp"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "exchange_runs.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

void expect_same_outcome(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.X, b.X);
  EXPECT_EQ(a.U, b.U);
  EXPECT_EQ(a.traffic.message_bytes, b.traffic.message_bytes);
  EXPECT_EQ(a.traffic.link_bytes, b.traffic.link_bytes);
  EXPECT_TRUE(b.reports.empty()) << b.reports[0];
}

TEST(Exchange, EveryGossipAlgorithmHasTheBitsOfTheSimulation) {
  for (const auto& info : algorithm_table())
    for (const auto& compressor : kStoredAndSummed) {
      if (!info.gossips()) continue;
      const auto toy = five_agents(info.name, info.compresses ? compressor : "identity");
      const auto simulated = simulate(toy, 100);
      for (const std::size_t processes : {1U, 2U, 3U, 5U}) {
        SCOPED_TRACE(concat(info.name, " ", compressor, ", ", processes, " processes"));
        expect_same_outcome(simulated, run_in_processes(toy, 100, processes));
      }
    }
}

TEST(Exchange, SilentAgentsHaveTheBitsOfTheSimulation) {
  for (const auto* const compressor : {"random_k:k=1", "random_k:0.2", "identity"}) {
    auto toy = five_agents("sparq-sgd", compressor);
    const auto all_sent = simulate(toy, 200);
    toy.trigger = 80;
    const auto simulated = simulate(toy, 200);
    EXPECT_LT(simulated.traffic.message_bytes, all_sent.traffic.message_bytes);
    EXPECT_GT(simulated.traffic.message_bytes, 0U);
    for (const auto machines : {Machines::one_each, Machines::one_for_all})
      for (const std::size_t processes : {2U, 5U}) {
        SCOPED_TRACE(concat(compressor, ", ", processes, " processes"));
        expect_same_outcome(simulated, run_in_processes(toy, 200, processes, kNothing, machines));
      }
  }
}

TEST(Exchange, EveryCompressorHasTheBitsOfTheSimulation) {
  for (const auto& info : compressor_table()) {
    SCOPED_TRACE(info.example);
    const auto toy = five_agents("porter-dp", info.example);
    const auto simulated = simulate(toy, 40);
    for (const auto machines : {Machines::one_each, Machines::one_for_all})
      expect_same_outcome(simulated, run_in_processes(toy, 40, 5, kNothing, machines));
  }
}

TEST(Exchange, ThreadsMasksPrecisionAndGossipStepsKeepTheBits) {
  for (const auto& compressor : kStoredAndSummed)
    for (const auto mask : {Mask::own, Mask::shared, Mask::sweep})
      for (const auto precision : {Precision::wide, Precision::narrow}) {
        const std::uint32_t gossip = mask == Mask::own ? 3 : 1;
        SCOPED_TRACE(concat(compressor, " mask ", int(mask), " precision ", int(precision)));
        auto toy = five_agents("porter-dp", compressor);
        toy.mask = mask;
        toy.precision = precision;
        toy.gossip = gossip;
        toy.gamma = 0.02;  // one entry of 40 keeps the agents together then
        toy.threads = 1;
        const auto simulated = simulate(toy, 140);  // past two rebuilds of float gaps
        toy.threads = 2;
        expect_same_outcome(simulated, simulate(toy, 140));
        expect_same_outcome(simulated, run_in_processes(toy, 140, 2));
        toy.threads = 1;
        for (const auto machines : {Machines::one_each, Machines::one_for_all})
          expect_same_outcome(simulated, run_in_processes(toy, 140, 5, kNothing, machines));
      }
}

// There are no copies then, whatever is asked for between the rounds.
TEST(Exchange, ProcessesThatShareMemoryHaveTheBitsOfTheSimulation) {
  const auto look = [](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
    if ((process + round) % 5 != 0) return;
    parts.algorithm->state();
    if (round % 2 == 0) parts.algorithm->state();
  };
  for (const auto* const compressor : {"random_k:k=1", "random_k:0.2", "sign"})
    for (const auto precision : {Precision::wide, Precision::narrow})
      for (const std::uint32_t gossip : {1U, 3U}) {
        auto toy = five_agents("porter-dp", compressor);
        toy.precision = precision;
        toy.gossip = gossip;
        toy.gamma = 0.02;
        const auto simulated = simulate(toy, 100);
        for (const std::size_t processes : {2U, 3U, 5U}) {
          SCOPED_TRACE(concat(compressor, " precision ", int(precision), " gossip ", gossip, ", ",
                              processes, " processes"));
          toy.threads = processes == 2 ? 2 : 1;
          expect_same_outcome(simulated,
                              run_in_processes(toy, 100, processes, look, Machines::one_for_all));
        }
      }
}

// What is read in shared memory does not travel, but counts as sent; what others keep copies of
// does.
TEST(Exchange, ProcessesThatShareMemorySendFramesWithoutVectors) {
  for (const auto& compressor : kStoredAndSummed) {
    SCOPED_TRACE(compressor);
    const auto toy = five_agents("porter-dp", compressor);
    const auto apart = run_in_processes(toy, 20, 5);
    const auto together = run_in_processes(toy, 20, 5, kNothing, Machines::one_for_all);
    expect_same_outcome(apart, together);
    constexpr std::uint64_t kFrames = 20 * 5, kTwoLengths = 8;
    EXPECT_EQ(together.posted, kFrames * (kFrameHeaderBytes + kTwoLengths));
    EXPECT_EQ(apart.posted, together.posted + apart.traffic.message_bytes);
  }
}

// What was taken of a state comes back: each process starts again from what all had after a round.
TEST(Exchange, ProcessesThatShareMemoryGoOnFromAStateThatIsPutBack) {
  for (const auto& compressor : kStoredAndSummed) {
    SCOPED_TRACE(compressor);
    const auto toy = five_agents("porter-dp", compressor);
    const auto before = toy.build();
    for (std::uint32_t round = 1; round <= 31; ++round) before->algorithm->step(round);
    const auto saved = before->algorithm->state();
    const auto put_back = [&](std::uint32_t, std::uint32_t round, ToyNetwork::Parts& parts) {
      if (round != 0) return;
      auto state = parts.algorithm->state();
      for (std::size_t i = 0; i < state.size(); ++i)
        copy_rows(*std::get<Rows*>(saved[i].rows), std::vector<std::uint32_t>{0, 1, 2, 3, 4},
                  *std::get<Rows*>(state[i].rows));
    };
    const auto outcome =
        run_in_processes(toy, 60, 5, put_back, Machines::one_for_all, /*first_round=*/32);
    EXPECT_EQ(simulate(toy, 60).X, outcome.X);
    EXPECT_TRUE(outcome.reports.empty());
  }
}

// Copies are read, summed up and proved in stretches of 4096 coordinates, on all threads. With 5 %
// the gaps of doubles are stored, and those of floats are not.
TEST(Exchange, VectorsOfSeveralStretchesKeepTheBits) {
  for (const auto* const compressor : {"random_k:0.1", "random_k:0.05"})
    for (const std::size_t features : {2049U, 4096U, 4097U, 8300U})
      for (const auto precision : {Precision::wide, Precision::narrow}) {
        auto toy = five_agents("porter-dp", compressor);
        toy.features = features;
        toy.precision = precision;
        toy.gamma = 0.02;
        toy.threads = 2;
        const auto simulated = simulate(toy, 17);
        for (const auto machines : {Machines::one_each, Machines::one_for_all})
          for (const std::size_t processes : {2U, 5U}) {
            SCOPED_TRACE(concat(compressor, " of ", features, " precision ", int(precision), ", ",
                                processes, " processes"));
            expect_same_outcome(simulated,
                                run_in_processes(toy, 17, processes, kNothing, machines));
          }
      }
}

}  // namespace
}  // namespace porter
