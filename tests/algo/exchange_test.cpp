// SPDX-License-Identifier: Apache-2.0
// The same algorithm code with its agents in one process and spread over several: the same bits.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "porter/comm/in_process.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

/// What all processes of a run together end with.
struct Outcome {
  Rows X, U;  // U only where the algorithm has it
  Traffic traffic;
  std::vector<std::string> reports;
};

// Between two rounds of a process: its number, the round that is over, its state.
using Meddle = std::function<void(std::uint32_t, std::uint32_t, ToyNetwork::Parts&)>;

Rows state_or_none(ToyNetwork::Parts& parts, const std::string& name) {
  for (const auto& [key, matrix] : parts.algorithm->state())
    if (key == name) return parts.state(name);
  return {};
}

void copy_rows(const Rows& from, std::span<const std::uint32_t> agents, Rows& to) {
  if (to.agents() == 0) to = Rows(from.agents(), from.dim());
  if (from.agents() > 0)
    for (const auto agent : agents) std::ranges::copy(from.row(agent), to.row(agent).begin());
}

Outcome simulate(const ToyNetwork& toy, std::uint32_t rounds) {
  const auto parts = toy.build();
  for (std::uint32_t round = 1; round <= rounds; ++round) parts->algorithm->step(round);
  return {
      parts->algorithm->iterates(), state_or_none(*parts, "U"), parts->algorithm->traffic(), {}};
}

Outcome run_in_processes(
    const ToyNetwork& toy, std::uint32_t rounds, std::size_t processes,
    const Meddle& meddle = [](std::uint32_t, std::uint32_t, ToyNetwork::Parts&) {}) {
  const auto network = ToyNetwork::Parts::make_network(toy);
  const auto hosting = host_in_blocks(listeners(network.graph), processes);
  auto ends = make_in_process_transports(hosting, Exchange::max_message(toy.features, toy.agents));
  Outcome all;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process, end = std::move(ends[process])] {
      try {
        Exchange exchange(*end, hosting, process,
                          {.run = {std::byte{7}},
                           .encoding = encoding_id(toy.compressor),
                           .dim = toy.features,
                           .report = [&](const std::string& text) {
                             const std::lock_guard lock(mutex);
                             all.reports.push_back(concat("process ", process, ", ", text));
                           }});
        ToyNetwork::Parts parts(toy, &exchange);
        for (std::uint32_t round = 1; round <= rounds; ++round) {
          parts.algorithm->step(round);
          meddle(process, round, parts);
        }
        end->finish();
        const std::lock_guard lock(mutex);
        copy_rows(parts.algorithm->iterates(), exchange.hosted(), all.X);
        copy_rows(state_or_none(parts, "U"), exchange.hosted(), all.U);
        all.traffic.message_bytes += parts.algorithm->traffic().message_bytes;
        all.traffic.link_bytes += parts.algorithm->traffic().link_bytes;
      } catch (const std::exception& error) {
        end->abort(error.what());
        ADD_FAILURE() << "process " << process << ": " << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return all;
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.X, b.X);
  EXPECT_EQ(a.U, b.U);
  EXPECT_EQ(a.traffic.message_bytes, b.traffic.message_bytes);
  EXPECT_EQ(a.traffic.link_bytes, b.traffic.link_bytes);
  EXPECT_TRUE(b.reports.empty()) << b.reports[0];
}

ToyNetwork five_agents(const std::string& algorithm, const std::string& compressor) {
  ToyNetwork toy{.agents = 5,
                 .graph = "erdos-renyi:0.6",
                 .compressor = compressor,
                 .algorithm = algorithm,
                 .clip_target = ClipTarget::sample,
                 .features = 40,
                 .noise_stddev = 0.2};
  if (algorithm == "porter-gc" || algorithm == "beer") {
    toy.noise_stddev = 0;
    toy.clip_target = ClipTarget::batch;
  }
  return toy;
}

TEST(Exchange, EveryGossipAlgorithmHasTheBitsOfTheSimulation) {
  for (const auto& info : algorithm_table()) {
    if (!info.gossips()) continue;
    const auto dense = !info.compresses;
    const auto toy = five_agents(info.name, dense ? "identity" : "random_k:0.2");
    const auto simulated = simulate(toy, 100);
    for (const std::size_t processes : {1U, 2U, 3U, 5U}) {
      SCOPED_TRACE(concat(info.name, ", ", processes, " processes"));
      expect_same(simulated, run_in_processes(toy, 100, processes));
    }
  }
}

TEST(Exchange, EveryCompressorHasTheBitsOfTheSimulation) {
  for (const auto& info : compressor_table()) {
    SCOPED_TRACE(info.example);
    const auto toy = five_agents("porter-dp", info.example);
    expect_same(simulate(toy, 40), run_in_processes(toy, 40, 5));
  }
}

TEST(Exchange, ThreadsMasksPrecisionAndGossipStepsKeepTheBits) {
  auto toy = five_agents("porter-dp", "random_k:0.2");
  for (const auto mask : {Mask::own, Mask::shared, Mask::sweep})
    for (const auto precision : {Precision::wide, Precision::narrow})
      for (const std::uint32_t gossip : {1U, 3U}) {
        SCOPED_TRACE(concat("mask ", int(mask), " precision ", int(precision), " gossip ", gossip));
        toy.mask = mask;
        toy.precision = precision;
        toy.gossip = gossip;
        toy.threads = 1;
        const auto simulated = simulate(toy, 140);  // past two rebuilds of float gaps
        toy.threads = 2;
        expect_same(simulated, simulate(toy, 140));
        expect_same(simulated, run_in_processes(toy, 140, 2));
        toy.threads = 1;
        expect_same(simulated, run_in_processes(toy, 140, 5));
      }
}

}  // namespace
}  // namespace porter
