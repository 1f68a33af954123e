// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/vector_math.hpp"
#include "lopsided_arcs.hpp"
#include "porter/core/error.hpp"
#include "toy_network.hpp"
#include "where_agents_end.hpp"

namespace porter {
namespace {

ToyNetwork pushing(const std::string& schedule, const std::string& compressor) {
  return {.agents = 8,
          .compressor = compressor,
          .schedule = schedule,
          .algorithm = "dp-csgp",
          .clip_target = ClipTarget::sample};
}

std::vector<std::string> schedules() {
  return {"static", "directed-ring", "directed-exponential", lopsided_arcs()};
}

// Agents that start apart and only gossip.
std::unique_ptr<ToyNetwork::Parts> scattered(ToyNetwork network) {
  network.eta = 1e-300;
  auto toy = network.build();
  for (const auto& [name, rows, copied] : toy->algorithm->state())
    if (name == "X")
      for (std::uint32_t i = 0; i < network.agents; ++i)
        RngStream(1, Draw::test, i, 0).fill_normal(std::get<Rows*>(rows)->row(i));
  return toy;
}

double far_apart(std::span<const double> a, std::span<const double> b) {
  return std::sqrt(squared_distance(a, b));
}

// The weights of a directed graph, or W.
std::vector<std::vector<MixingWeight>> gap_weights(const Network& network) {
  if (network.changing) return network.changing->weights(1).incoming;
  const auto columns = network.mixing.weights.transposed();
  std::vector<std::vector<MixingWeight>> rows(columns.nodes());
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    for (const auto& [j, weight] : columns.row(i)) rows[i].push_back({j, weight - (i == j)});
  return rows;
}

TEST(DpCsgp, GossipKeepsTheSumWithEveryCompressor) {
  for (const auto& schedule : schedules())
    for (const auto& info : compressor_table()) {
      SCOPED_TRACE(schedule + ' ' + info.example);
      auto network = pushing(schedule, info.example);
      network.gamma = 0.05;
      const auto toy = scattered(network);
      const auto before = toy->state("X");
      for (std::uint32_t round = 1; round <= 100; ++round) {
        toy->algorithm->step(round);
        ASSERT_LT(far_apart(mean_row(toy->state("X")), mean_row(before)), 1e-13) << round;
      }
      EXPECT_GT(far_apart(toy->state("X").row(0), before.row(0)), 1e-2);
    }
}

// With gradients and noise: mean X moves by their mean, wherever compression takes the agents.
TEST(DpCsgp, TheMeanFollowsTheReleases) {
  for (const auto& schedule : schedules()) {
    SCOPED_TRACE(schedule);
    auto network = pushing(schedule, "random_k:k=1");
    network.gamma = 0.05;
    network.gossip = 2;
    network.noise_stddev = 0.1;
    const auto toy = network.build();
    auto expected = mean_row(toy->state("X"));
    for (std::uint32_t round = 1; round <= 100; ++round) {
      axpy(-network.eta, mean_row(toy->next_gradients(round)), expected);
      toy->algorithm->step(round);
      ASSERT_LT(far_apart(mean_row(toy->state("X")), expected), 1e-11) << round;
    }
  }
}

// On an undirected graph it is the same arithmetic. On arcs push-sum's messages are states, and
// these are differences, so they are rounded at other places.
TEST(DpCsgp, IsPushSumWhereNothingIsCompressed) {
  for (const auto& schedule : schedules()) {
    SCOPED_TRACE(schedule);
    const auto after_100 = [&](const char* algorithm) {
      auto network = pushing(schedule, "identity");
      network.algorithm = algorithm;
      network.gamma = 1;
      network.gossip = 2;
      network.noise_stddev = 0.1;
      network.momentum = 0.5;
      auto toy = network.build();
      for (std::uint32_t round = 1; round <= 100; ++round) toy->algorithm->step(round);
      return toy;
    };
    const auto compressed = after_100("dp-csgp"), dense = after_100("push-sum");
    EXPECT_EQ(compressed->state("w"), dense->state("w"));
    EXPECT_EQ(compressed->algorithm->traffic().link_bytes, dense->algorithm->traffic().link_bytes);
    const auto &Z = compressed->algorithm->iterates(), &expected = dense->algorithm->iterates();
    if (schedule == "static") {
      EXPECT_EQ(Z, expected);
    }
    for (std::size_t i = 0; i < Z.agents(); ++i)
      EXPECT_LT(far_apart(Z.row(i), expected.row(i)), 1e-5) << i;
  }
}

TEST(DpCsgp, FindsTheAverageWhereMessagesGoOneWay) {
  for (const auto& schedule : schedules())
    for (const char* compressor : {"random_k:0.3", "top_k:0.3", "sign", "natural", "identity"}) {
      SCOPED_TRACE(schedule + ' ' + compressor);
      auto network = pushing(schedule, compressor);
      network.gamma = 0.15;
      const auto toy = scattered(network);
      const auto mean = mean_row(toy->state("X"));
      for (std::uint32_t round = 1; round <= 2000; ++round) toy->algorithm->step(round);
      for (std::size_t i = 0; i < network.agents; ++i)
        EXPECT_LT(far_apart(toy->algorithm->iterates().row(i), mean), 1e-6) << i;
    }
}

// (1 - gamma) I + gamma W, as what is pushed.
TEST(DpCsgp, WeightsMoveByTheConsensusStep) {
  auto network = pushing(lopsided_arcs(), "random_k:0.3");
  network.gamma = 0.2;
  const auto toy = network.build();
  const auto weights = gap_weights(toy->network);
  std::vector<double> w(network.agents, 1.0);
  for (std::uint32_t round = 1; round <= 30; ++round) {
    toy->algorithm->step(round);
    const auto before = w;
    for (std::size_t i = 0; i < w.size(); ++i)
      for (const auto& [j, weight] : weights[i]) w[i] += 0.2 * weight * before[j];
    for (std::size_t i = 0; i < w.size(); ++i)
      EXPECT_NEAR(toy->state("w").row(i)[0], w[i], 1e-14) << round;
  }
  EXPECT_NEAR(std::accumulate(w.begin(), w.end(), 0.0), 8, 1e-12);
  EXPECT_GT(std::ranges::max(w), 1.3);
}

// Agents start equal, and on arcs one way that is no rest: what some receive is more than what they
// give. One entry of forty a message has its gaps stored, eight have them summed up each time.
TEST(DpCsgp, GapsAreThoseOfTheCopiesFromTheStart) {
  for (const auto& schedule : schedules()) {
    SCOPED_TRACE(schedule);
    auto network = pushing(schedule, "random_k:k=1");
    network.features = 40;
    network.gamma = 0.01;
    const auto toy = network.build();
    const auto weights = gap_weights(toy->network);
    for (std::uint32_t round = 1; round <= 50; ++round) {
      toy->algorithm->step(round);
      const auto Q = toy->state("Q0"), gap = toy->state("gap0");
      for (std::size_t i = 0; i < network.agents; ++i) {
        std::vector<double> sum(network.features);
        for (const auto& [j, weight] : weights[i]) axpy(weight, Q.row(j), sum);
        ASSERT_LT(far_apart(gap.row(i), sum), 1e-13) << round;
      }
    }
  }
}

// Agents' data differ, so what is left is as long as the step, whatever compresses the messages.
TEST(DpCsgp, ComesAsNearTheOptimumOnADirectedGraphAsTheStepIsSmall) {
  const auto end = [](const char* compressor, double eta) {
    auto network = pushing("directed-exponential", compressor);
    network.clip = "none";
    network.batch = 10;  // all of an agent's
    network.gamma = 0.15;
    network.eta = eta;
    return where_agents_end(network, 20'000);
  };
  const auto [steeper, farther] = end("random_k:0.3", 0.02);
  for (const char* compressor : {"random_k:0.3", "top_k:0.3", "sign"}) {
    SCOPED_TRACE(compressor);
    const auto [gradient, apart] = end(compressor, 0.01);
    EXPECT_LT(gradient, 3e-3);
    EXPECT_LT(apart, 0.03);
    EXPECT_NEAR(farther / apart, 2, 0.1);
  }
  EXPECT_LT(steeper, 3e-3);
}

// A message has two values and their checksum, and w beside it; a copy of it goes along every arc.
TEST(DpCsgp, BytesAreThoseOfTheMessagesAndTheWeights) {
  constexpr std::uint64_t kMessage = 2 * 4 + 4 + 8, kRounds = 10;
  const std::vector<std::pair<std::string, std::uint64_t>> arcs = {
      {"static", 16}, {"directed-ring", 8}, {"directed-exponential", 24}, {lopsided_arcs(), 14}};
  for (const auto& [schedule, count] : arcs) {
    SCOPED_TRACE(schedule);
    const auto toy = pushing(schedule, "random_k:k=2").build();
    for (std::uint32_t round = 1; round <= kRounds; ++round) toy->algorithm->step(round);
    EXPECT_EQ(toy->algorithm->traffic().message_bytes, 8 * kRounds * kMessage);
    EXPECT_EQ(toy->algorithm->traffic().link_bytes, count * kRounds * kMessage);
  }
}

TEST(DpCsgp, RefusesNetworksWhoseCopiesWouldFallOutOfStep) {
  const auto refusal = [](const ToyNetwork& network) -> std::string {
    try {
      network.build();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "accepted";
  };
  for (const char* compressor : {"random_k:0.3", "identity"}) {
    for (const char* schedule : {"one-peer", "matching", "epidemic:2"})
      EXPECT_NE(refusal(pushing(schedule, compressor)).find("network.schedule"), std::string::npos);
    for (const char* schedule : {"static", "directed-ring"}) {
      auto network = pushing(schedule, compressor);
      network.dropout = 0.1;
      EXPECT_NE(refusal(network).find("network.dropout"), std::string::npos);
    }
  }
  const auto toy = pushing("directed-ring", "random_k:0.3").build();
  auto other = toy->network;
  other.changing.emplace(
      other.graph, other.mixing.weights,
      ChangingNetwork::Options{.meetings = parse_meetings("directed-exponential")});
  EXPECT_THROW(make_algorithm("dp-csgp", {.problem = {*toy->model, toy->data, 8},
                                          .network = &other,
                                          .compressor = *toy->compressor,
                                          .pool = toy->pool,
                                          .start = std::vector<double>(toy->model->dim()),
                                          .gradients = toy->gradients}),
               Error);
}

}  // namespace
}  // namespace porter
