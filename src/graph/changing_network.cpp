// SPDX-License-Identifier: Apache-2.0
#include "porter/graph/changing_network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/sampling.hpp"
#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

using Kind = Meetings::Kind;

// What keeps an edge's weight when others leave: the same both ways, and none that pushes away.
void require_edge_weights(const MixingMatrix& W) {
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 0; i < W.nodes(); ++i)
    for (const auto& [j, weight] : W.row(i)) {
      if (i == j) continue;
      require(std::abs(weight - W(j, i)) <= kRounding, ErrorKind::usage,
              "expected weights that are the same both ways where agents are absent now and then; "
              "agents ",
              i, " and ", j, " have ", weight, " and ", W(j, i));
      require(weight >= 0, ErrorKind::usage,
              "expected weights >= 0 where agents are absent now and then, as with metropolis: one "
              "below 0 drives agents apart once others are not there to hold them; agents ",
              i, " and ", j, " have ", weight);
    }
}

}  // namespace

std::vector<MeetingsInfo> meetings_table() {
  return {{"static", "static", "neighbours of the graph in every step, weighed by W"},
          {"one-peer", "one-peer", "agent i sends to i + 2^k, k = 0, 1, ... step by step"},
          {"matching", "matching", "random pairs of neighbours, who meet in the middle"},
          {"epidemic", "epidemic:2", "every agent sends to K random others in every step"},
          {"directed-ring", "directed-ring", "agent i sends to i + 1, in every step"},
          {"directed-exponential", "directed-exponential",
           "agent i sends to i + 1, 2, 4, ... modulo N, in every step"},
          {"arcs", "arcs:arcs.txt",
           "one arc 'SENDER RECEIVER' per line, the same in every step, # comments"}};
}

Meetings parse_meetings(std::string_view spec) {
  if (spec == "static") return {Kind::fixed};
  if (spec == "one-peer") return {Kind::one_peer};
  if (spec == "matching") return {Kind::matching};
  const auto parts = split_spec(spec);
  if (spec == "directed-ring" || spec == "directed-exponential" ||
      (parts.name == "arcs" && !parts.argument.value_or("").empty()))
    return {Kind::directed, 0, std::string(spec)};
  const auto peers = parts.number<std::uint32_t>();
  require(parts.name == "epidemic" && peers && *peers > 0, ErrorKind::usage,
          "expected static, one-peer, matching, epidemic:K with K >= 1, directed-ring, "
          "directed-exponential or arcs:FILE, found \"",
          spec, "\"");
  return {Kind::epidemic, *peers};
}

Balance balance_of(const Meetings& meetings, bool absences) {
  if (meetings.kind == Kind::fixed) return Balance::subgraph;
  const bool doubly =
      meetings.kind == Kind::matching || (meetings.kind == Kind::one_peer && !absences);
  return doubly ? Balance::doubly : Balance::one_sided;
}

ChangingNetwork::ChangingNetwork(const Graph& graph, const MixingMatrix& weights, Options options)
    : nodes_(graph.nodes()), edges_(graph.edges()), mixing_(weights), options_(std::move(options)) {
  const auto& meetings = options_.meetings;
  require(meetings.kind != Kind::epidemic || meetings.peers < nodes_, ErrorKind::usage,
          "epidemic: expected at most ", nodes_ - 1, " peers for ", nodes_, " agents, found ",
          meetings.peers);
  if (meetings.kind == Kind::fixed) require_edge_weights(mixing_);
  if (meetings.kind == Kind::directed) arcs_ = make_arcs(meetings.directed, nodes_);
}

std::vector<bool> ChangingNetwork::presence(std::uint32_t round) const {
  std::vector<bool> here(nodes_);
  for (std::size_t i = 0; i < nodes_; ++i) here[i] = !options_.absences(i, round);
  return here;
}

std::vector<std::uint32_t> ChangingNetwork::present(std::uint32_t round) const {
  std::vector<std::uint32_t> agents;
  for (std::uint32_t i = 0; i < nodes_; ++i)
    if (!options_.absences(i, round)) agents.push_back(i);
  return agents;
}

StepWeights ChangingNetwork::weights(std::uint32_t step) const {
  const auto here = presence((step - 1) / options_.gossip + 1);
  switch (options_.meetings.kind) {
    case Kind::fixed:
      return fixed_weights(here);
    case Kind::matching:
      return arc_weights(matching(step, here));
    case Kind::one_peer:
    case Kind::epidemic:
    case Kind::directed:
      break;
  }
  auto arcs = options_.meetings.kind == Kind::one_peer   ? one_peer(step)
              : options_.meetings.kind == Kind::epidemic ? epidemic(step)
                                                         : arcs_;
  std::erase_if(arcs, [&](const Arc& arc) { return !here[arc.first] || !here[arc.second]; });
  return arc_weights(std::move(arcs));
}

// W of the edges between those who are here; what is missing to 1 an agent puts on itself.
StepWeights ChangingNetwork::fixed_weights(const std::vector<bool>& here) const {
  StepWeights step{std::vector<std::vector<MixingWeight>>(nodes_),
                   std::vector<std::size_t>(nodes_)};
  for (std::uint32_t i = 0; i < nodes_; ++i) {
    auto& row = step.incoming[i];
    double others = 0;
    for (const auto& [j, weight] : mixing_.row(i)) {
      if (j == i) row.push_back({i, 0});
      if (j == i || weight == 0 || !here[i] || !here[j]) continue;
      row.push_back({j, weight});
      others += weight;
    }
    step.receivers[i] = row.size() - 1;
    if (row.size() == 1)
      row.clear();
    else
      std::ranges::find(row, i, &MixingWeight::node)->weight = -others;
  }
  return step;
}

// Shares of 1 / (1 + count), whoever counts. Of a pair that sends to each other that is one half.
StepWeights ChangingNetwork::arc_weights(std::vector<Arc> arcs) const {
  const bool by_receiver = options_.weighing == Weighing::receivers;
  StepWeights step{std::vector<std::vector<MixingWeight>>(nodes_),
                   std::vector<std::size_t>(nodes_)};
  std::vector<std::size_t> received(nodes_);
  for (const auto& [sender, receiver] : arcs) {
    ++step.receivers[sender];
    ++received[receiver];
  }
  const auto& counts = by_receiver ? received : step.receivers;
  const auto share = [&](std::size_t i) { return 1.0 / (1.0 + static_cast<double>(counts[i])); };
  for (std::uint32_t i = 0; i < nodes_; ++i)
    if (counts[i] > 0) step.incoming[i].push_back({i, -static_cast<double>(counts[i]) * share(i)});
  for (const auto& [sender, receiver] : arcs)
    step.incoming[receiver].push_back({sender, share(by_receiver ? receiver : sender)});
  for (auto& row : step.incoming) std::ranges::sort(row, {}, &MixingWeight::node);
  return step;
}

std::vector<Arc> ChangingNetwork::one_peer(std::uint32_t step) const {
  std::vector<Arc> arcs;
  if (nodes_ < 2) return arcs;
  const auto period = static_cast<std::uint32_t>(std::bit_width(nodes_ - 1));
  const std::size_t shift = std::size_t{1} << ((step - 1) % period);
  for (std::uint32_t i = 0; i < nodes_; ++i)
    arcs.emplace_back(i, static_cast<std::uint32_t>((i + shift) % nodes_));
  return arcs;
}

// The edges in a random order; each takes its ends if both are here and free.
std::vector<Arc> ChangingNetwork::matching(std::uint32_t step,
                                           const std::vector<bool>& here) const {
  auto edges = edges_;
  RngStream rng(options_.seed, Draw::meeting, 0, step);
  for (std::size_t left = edges.size(); left > 1; --left)
    std::swap(edges[left - 1], edges[rng.below(left)]);
  auto free = here;
  std::vector<Arc> arcs;
  for (const auto& [i, j] : edges) {
    if (!free[i] || !free[j]) continue;
    free[i] = free[j] = false;
    arcs.emplace_back(i, j);
    arcs.emplace_back(j, i);
  }
  return arcs;
}

std::vector<Arc> ChangingNetwork::epidemic(std::uint32_t step) const {
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < nodes_; ++i) {
    RngStream rng(options_.seed, Draw::meeting, i, step);
    choose(options_.meetings.peers, nodes_ - 1, rng, others);
    for (const auto other : others) arcs.emplace_back(i, other < i ? other : other + 1);
  }
  return arcs;
}

}  // namespace porter
