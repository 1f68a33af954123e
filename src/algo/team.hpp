// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/algo/algorithm.hpp"

namespace porter {

/// Whether all steps have the weights of the first: a directed graph from which nobody is absent.
inline bool stays(const ChangingNetwork& network) {
  const auto& options = network.options();
  return options.meetings.kind == Meetings::Kind::directed && !options.absences.any();
}

/// The agents that are computed here, and the threads that do it.
struct Team {
  explicit Team(const AlgorithmSetup& setup)
      : pool(setup.pool),
        hosted(setup.hosted()),
        agents(setup.problem.agents),
        changing(setup.network && setup.network->changing ? &*setup.network->changing : nullptr) {}

  /// Before anything of a round is done: who is absent is none of the hosted, and keeps its rows.
  void start(std::uint32_t round) {
    if (changing) hosted = changing->present(round);
  }

  /// work(agent), on all threads.
  template <class Work>
  void for_each(const Work& work) const {
    for_each_agent(pool, hosted, work);
  }
  /// work(tile) for all tiles of their rows, on all threads.
  template <class Work>
  void for_each_tile(std::size_t dim, const Work& work) const {
    porter::for_each_tile(pool, hosted, dim, work);
  }
  /// A matrix for all agents, the rows of ours at x.
  template <class Real = double>
  BasicRows<Real> rows(std::span<const double> x) const {
    return repeat_row<Real>(x, agents, hosted);
  }

  ThreadPool& pool;
  std::vector<std::uint32_t> hosted;  ///< ascending
  std::size_t agents;                 ///< of the run
  const ChangingNetwork* changing;    ///< null where the network stays
};

/// Numbers the gossip steps of a run: some per round, counted through from 1.
struct GossipClock {
  std::uint32_t steps;  ///< per round

  std::uint32_t first(std::uint32_t round) const { return (round - 1) * steps + 1; }
  /// work(step) for those after the first.
  template <class Work>
  void further(std::uint32_t round, const Work& work) const {
    for (std::uint32_t s = 1; s < steps; ++s) work(first(round) + s);
  }
  template <class Work>
  void all(std::uint32_t round, const Work& work) const {
    work(first(round));
    further(round, work);
  }
};

/// A method's own matrices, and those of its parts.
template <class... Parts>
std::vector<NamedRows> state_of(std::vector<NamedRows> own, Parts&... parts) {
  (parts.append_state(own), ...);
  return own;
}

}  // namespace porter
