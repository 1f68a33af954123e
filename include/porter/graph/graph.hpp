// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace porter {

/// A connected undirected graph without loops or double edges. A value; what exists is valid.
class Graph {
 public:
  using Edge = std::pair<std::uint32_t, std::uint32_t>;  // first < second

  /// Sorts the edges. Error{usage} on a loop, a double edge, a node >= nodes, or a disconnected
  /// graph.
  Graph(std::size_t nodes, std::vector<Edge> edges);

  std::size_t nodes() const { return neighbours_.size(); }
  const std::vector<Edge>& edges() const { return edges_; }
  /// Ascending, without the node itself.
  const std::vector<std::uint32_t>& neighbours(std::size_t node) const { return neighbours_[node]; }
  const std::vector<std::vector<std::uint32_t>>& neighbours() const { return neighbours_; }
  std::size_t degree(std::size_t node) const { return neighbours_[node].size(); }

 private:
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
};

/// Builds from text such as "erdos-renyi:0.8", "ring", "grid:3x4", "file:edges.txt". Random
/// topologies are drawn from `seed` and redrawn until connected. Error{usage} names the spec and
/// what was expected.
Graph make_graph(std::string_view spec, std::size_t nodes, std::uint64_t seed);

/// Name, a valid spec, and one line of help for each topology, in table order.
struct GraphInfo {
  std::string name, example, help;
};
std::vector<GraphInfo> graph_table();

}  // namespace porter
