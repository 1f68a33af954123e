// SPDX-License-Identifier: Apache-2.0
#include "porter/graph/graph.hpp"

#include <algorithm>
#include <limits>
#include <ranges>

#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

using Neighbours = std::vector<std::vector<std::uint32_t>>;

void require_connected(const Neighbours& neighbours) {
  const auto reached = reached_from_first(neighbours);
  const auto missing = std::find(reached.begin(), reached.end(), false);
  require(missing == reached.end(), ErrorKind::usage,
          "the graph is not connected: there is no way from node 0 to node ",
          missing - reached.begin(), " (", std::count(reached.begin(), reached.end(), true), " of ",
          reached.size(), " nodes can be reached)");
}

}  // namespace

std::vector<bool> reached_from_first(const Neighbours& neighbours) {
  std::vector<bool> reached(neighbours.size(), false);
  std::vector<std::uint32_t> waiting = {0};
  reached[0] = true;
  while (!waiting.empty()) {
    const auto node = waiting.back();
    waiting.pop_back();
    for (const auto next : neighbours[node])
      if (!reached[next]) {
        reached[next] = true;
        waiting.push_back(next);
      }
  }
  return reached;
}

Graph::Graph(std::size_t nodes, std::vector<Edge> edges) : edges_(std::move(edges)) {
  require(nodes >= 1 && nodes <= std::numeric_limits<std::uint32_t>::max(), ErrorKind::usage,
          "a graph needs at least 1 and at most 2^32 - 1 nodes, got ", nodes);
  for (auto& [i, j] : edges_) {
    require(i < nodes && j < nodes, ErrorKind::usage, "edge ", i, " ", j,
            ": expected nodes from 0 to ", nodes - 1);
    require(i != j, ErrorKind::usage, "edge ", i, " ", j, ": a node has no edge to itself");
    if (i > j) std::swap(i, j);
  }
  std::sort(edges_.begin(), edges_.end());
  const auto twice = std::adjacent_find(edges_.begin(), edges_.end());
  if (twice != edges_.end())
    fail(ErrorKind::usage, "edge ", twice->first, " ", twice->second, " is given twice");

  neighbours_.resize(nodes);
  for (const auto& [i, j] : edges_) {
    neighbours_[i].push_back(j);
    neighbours_[j].push_back(i);
  }
  for (auto& list : neighbours_) std::sort(list.begin(), list.end());
  require_connected(neighbours_);
}

Degrees degrees_of(const Graph& graph) {
  const auto [least, most] = std::ranges::minmax_element(graph.neighbours(), {}, std::ranges::size);
  return {least->size(), most->size()};
}

}  // namespace porter
