// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "lopsided_arcs.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

ToyNetwork changing(const AlgorithmInfo& info, const std::string& schedule, double dropout) {
  return {.agents = 8,
          .compressor = info.compresses ? "random_k:0.5" : "identity",
          .schedule = schedule,
          .dropout = dropout,
          .algorithm = info.name};
}

// The networks that a method takes.
std::vector<ToyNetwork> networks_of(const AlgorithmInfo& info) {
  if (!info.changing && info.weighing == Weighing::senders)  // directed, and all are there
    return {changing(info, "directed-exponential", 0), changing(info, lopsided_arcs(), 0)};
  if (!info.changing) return {};
  std::vector<ToyNetwork> networks = {changing(info, "static", 0.3)};
  if (*info.changing >= Balance::doubly) {
    networks.push_back(changing(info, "matching", 0.2));
    networks.push_back(changing(info, "one-peer", 0));
  }
  if (*info.changing >= Balance::one_sided) {
    networks.push_back(changing(info, "one-peer", 0.2));
    networks.push_back(changing(info, "epidemic:2", 0.2));
  }
  if (info.weighing == Weighing::senders) networks.push_back(changing(info, lopsided_arcs(), 0.2));
  return networks;
}

template <class Test>
void for_all_networks(const Test& test) {
  for (const auto& info : algorithm_table())
    for (const auto& network : networks_of(info)) {
      SCOPED_TRACE(concat(info.name, " ", network.schedule, " ", network.dropout));
      test(network);
    }
}

TEST(ChangingNetworks, EqualBitsForAnyNumberOfThreads) {
  for_all_networks([](ToyNetwork network) {
    network.noise_stddev = 0.1;
    std::vector<Rows> results;
    for (const std::size_t threads : {1, 3}) {
      network.threads = threads;
      const auto toy = network.build();
      for (std::uint32_t round = 1; round <= 30; ++round) toy->algorithm->step(round);
      results.push_back(toy->algorithm->iterates());
    }
    EXPECT_EQ(results[0], results[1]);
  });
}

TEST(ChangingNetworks, WhoIsAbsentKeepsItsIterate) {
  for_all_networks([](const ToyNetwork& network) {
    const auto toy = network.build();
    std::size_t absent = 0;
    for (std::uint32_t round = 1; round <= 20; ++round) {
      const auto before = toy->algorithm->iterates();
      const auto present = toy->network.changing->present(round);
      toy->algorithm->step(round);
      const auto& after = toy->algorithm->iterates();
      for (std::uint32_t i = 0; i < before.agents(); ++i) {
        if (std::ranges::binary_search(present, i)) continue;
        ++absent;
        EXPECT_TRUE(std::ranges::equal(before.row(i), after.row(i))) << i << " in " << round;
      }
    }
    EXPECT_EQ(absent > 0, network.dropout > 0);
  });
}

TEST(ChangingNetworks, TrackersAndCorrectionsKeepTheirMean) {
  for_all_networks([](const ToyNetwork& network) {
    const auto toy = network.build();
    for (std::uint32_t round = 1; round <= 200; ++round) toy->algorithm->step(round);
    EXPECT_LT(toy->algorithm->tracking_error().value_or(0), 1e-9);
  });
}

// mean X - eta / n times the sum of the gradients of who was there.
void expect_mean_follows_gradients(const ToyNetwork& network, const std::string& name) {
  SCOPED_TRACE(concat(network.algorithm, " ", network.schedule, " ", network.dropout));
  const auto toy = network.build();
  auto expected = mean_row(toy->state(name));
  for (std::uint32_t round = 1; round <= 100; ++round) {
    const auto G = toy->next_gradients(round);
    for (const auto i : toy->network.changing->present(round))
      axpy(-network.eta / static_cast<double>(network.agents), G.row(i), expected);
    toy->algorithm->step(round);
    ASSERT_LT(std::sqrt(squared_distance(mean_row(toy->state(name)), expected)), 1e-9) << round;
  }
}

TEST(ChangingNetworks, GossipMovesNobodysMean) {
  const auto& dsgd = find_algorithm("dsgd");
  expect_mean_follows_gradients(changing(dsgd, "static", 0.3), "X");
  expect_mean_follows_gradients(changing(dsgd, "matching", 0.2), "X");
  expect_mean_follows_gradients(changing(dsgd, "one-peer", 0), "X");
  for (const char* name : {"push-sum", "dp-csgp"})
    for (const auto& network : networks_of(find_algorithm(name)))
      expect_mean_follows_gradients(network, "X");
}

TEST(ChangingNetworks, AllDescend) {
  for_all_networks([](ToyNetwork network) {
    network.batch = 5;
    network.eta = 0.2;
    const auto toy = network.build();
    const auto loss = [&] {
      return toy->model
          ->evaluate(mean_row(toy->algorithm->iterates()), toy->data, 0, toy->data.rows(), {})
          .loss;
    };
    const double start = loss();
    for (std::uint32_t round = 1; round <= 400; ++round) toy->algorithm->step(round);
    EXPECT_LT(loss(), 0.8 * start);
  });
}

// Its state after some rounds is all that it needs.
TEST(ChangingNetworks, ARunThatGoesOnHasTheBitsOfOneThatNeverStopped) {
  for_all_networks([](ToyNetwork network) {
    network.momentum = 0.5;
    network.pace = Pace{.latency = 0.1, .bandwidth = 1000, .compute = 1, .straggling = 1};
    const auto whole = network.build(), rest = network.build();
    for (std::uint32_t round = 1; round <= 15; ++round) whole->algorithm->step(round);
    auto from = whole->algorithm->state();
    auto to = rest->algorithm->state();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t m = 0; m < from.size(); ++m)
      std::visit(
          [](auto* a, auto* b) {
            if constexpr (std::is_same_v<decltype(a), decltype(b)>) *b = *a;
          },
          from[m].rows, to[m].rows);
    for (std::uint32_t round = 16; round <= 30; ++round) {
      whole->algorithm->step(round);
      rest->algorithm->step(round);
    }
    EXPECT_EQ(whole->algorithm->iterates(), rest->algorithm->iterates());
    EXPECT_EQ(whole->algorithm->traffic().seconds, rest->algorithm->traffic().seconds);
    EXPECT_GT(whole->algorithm->traffic().seconds, 30);
  });
}

TEST(PushSum, IsDecentralisedDescentWhereWeightsStayOne) {
  const auto toy = changing(find_algorithm("push-sum"), "static", 0.3).build();
  for (std::uint32_t round = 1; round <= 50; ++round) toy->algorithm->step(round);
  const auto w = toy->state("w");
  for (std::size_t i = 0; i < w.agents(); ++i) EXPECT_NEAR(w.row(i)[0], 1, 1e-13);
}

// Without gradients what is left is the average, though some agents are heard more than others.
TEST(PushSum, FindsTheAverageOnADirectedGraph) {
  auto network = changing(find_algorithm("push-sum"), lopsided_arcs(), 0);
  network.eta = 1e-300;
  const auto toy = network.build();
  for (const auto& [name, rows, copied] : toy->algorithm->state())
    if (name == "X")
      for (std::uint32_t i = 0; i < 8; ++i)
        RngStream(1, Draw::test, i, 0).fill_normal(std::get<Rows*>(rows)->row(i));
  const auto mean = mean_row(toy->state("X"));
  for (std::uint32_t round = 1; round <= 150; ++round) toy->algorithm->step(round);
  const auto w = toy->state("w");
  double heaviest = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_LT(std::sqrt(squared_distance(toy->algorithm->iterates().row(i), mean)), 1e-6) << i;
    heaviest = std::max(heaviest, w.row(i)[0]);
  }
  EXPECT_GT(heaviest, 1.5);
}

TEST(PushSum, WeightsMoveAndAddUp) {
  const auto toy = changing(find_algorithm("push-sum"), "epidemic:1", 0.2).build();
  bool moved = false;
  for (std::uint32_t round = 1; round <= 100; ++round) {
    toy->algorithm->step(round);
    const auto w = toy->state("w");
    double sum = 0;
    for (std::size_t i = 0; i < w.agents(); ++i) {
      EXPECT_GT(w.row(i)[0], 0);
      sum += w.row(i)[0];
      moved = moved || std::abs(w.row(i)[0] - 1) > 0.1;
    }
    EXPECT_NEAR(sum, 8, 1e-12);
  }
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace porter
