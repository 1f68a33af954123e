// SPDX-License-Identifier: Apache-2.0
// Runs of a toy network: simulated, and spread over several processes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/exchange.hpp"
#include "in_process.hpp"
#include "porter/comm/transport.hpp"
#include "porter/core/error.hpp"
#include "toy_network.hpp"

namespace porter {

/// What all processes of a run together end with.
struct Outcome {
  Rows X, U;  // U only where the algorithm has it
  Traffic traffic;
  std::vector<std::string> reports;
  std::uint64_t posted = 0;  // bytes, by all processes
};

/// Between two rounds of a process: its number, the round that is over (0: none), its state.
using Meddle = std::function<void(std::uint32_t, std::uint32_t, ToyNetwork::Parts&)>;

inline Rows state_or_none(ToyNetwork::Parts& parts, const std::string& name) {
  for (const auto& [key, matrix, copied] : parts.algorithm->state())
    if (key == name) return parts.state(name);
  return {};
}

inline void copy_rows(const Rows& from, std::span<const std::uint32_t> agents, Rows& to) {
  if (from.agents() == 0) return;
  if (to.agents() == 0) to = Rows(from.agents(), from.dim());
  for (const auto agent : agents) std::ranges::copy(from.row(agent), to.row(agent).begin());
}

inline Outcome simulate(const ToyNetwork& toy, std::uint32_t rounds) {
  const auto parts = toy.build();
  for (std::uint32_t round = 1; round <= rounds; ++round) parts->algorithm->step(round);
  return {
      parts->algorithm->iterates(), state_or_none(*parts, "U"), parts->algorithm->traffic(), {}};
}

inline const Meddle kNothing = [](std::uint32_t, std::uint32_t, ToyNetwork::Parts&) {};

inline Outcome run_in_processes(const ToyNetwork& toy, std::uint32_t rounds, std::size_t processes,
                                const Meddle& meddle = kNothing,
                                Machines machines = Machines::one_each,
                                std::uint32_t first_round = 1) {
  const auto network = ToyNetwork::Parts::make_network(toy);
  const auto hosting = host_in_blocks(network.graph.neighbours(), processes);
  auto ends = make_in_process_transports(hosting, Exchange::max_message(toy.features, toy.agents),
                                         machines);
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
        meddle(process, 0, parts);
        for (std::uint32_t round = first_round; round <= rounds; ++round) {
          parts.algorithm->step(round);
          meddle(process, round, parts);
        }
        end->finish();
        const std::lock_guard lock(mutex);
        copy_rows(parts.algorithm->iterates(), exchange.hosted(), all.X);
        copy_rows(state_or_none(parts, "U"), exchange.hosted(), all.U);
        all.traffic.message_bytes += parts.algorithm->traffic().message_bytes;
        all.traffic.link_bytes += parts.algorithm->traffic().link_bytes;
        all.posted += exchange.bytes().posted;
      } catch (const std::exception& error) {
        end->abort(error.what());
        ADD_FAILURE() << "process " << process << ": " << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return all;
}

inline ToyNetwork five_agents(const std::string& algorithm, const std::string& compressor) {
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

/// Of 40 coordinates, one a message has its gaps stored, and eight have them summed up each time.
inline const std::vector<std::string> kStoredAndSummed = {"random_k:k=1", "random_k:0.2"};

}  // namespace porter
