// SPDX-License-Identifier: Apache-2.0
#include "porter/core/error.hpp"
#include "registry.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

// Random topologies look at all pairs of nodes: this many take seconds and 300 MB.
constexpr std::size_t kMaxNodes = 50'000;

struct Topology {
  std::string_view name, example;
  Argument argument;
  Graph (*make)(const GraphRequest&);
  std::string_view help;
};

constexpr Topology kTopologies[] = {
    {"erdos-renyi", "erdos-renyi:0.8", Argument::required, make_erdos_renyi,
     "each pair is joined with probability P; redrawn until connected"},
    {"ring", "ring", Argument::none, make_ring, "a circle"},
    {"path", "path", Argument::none, make_path, "a line"},
    {"star", "star", Argument::none, make_star, "node 0 joined to all others"},
    {"complete", "complete", Argument::none, make_complete, "every pair joined"},
    {"grid", "grid:3x4", Argument::optional, make_grid,
     "rows x columns; without a shape the most square one"},
    {"torus", "torus:3x4", Argument::optional, make_torus, "a grid whose ends meet"},
    {"hypercube", "hypercube", Argument::none, make_hypercube,
     "numbers that differ in one bit are joined; N a power of two"},
    {"exponential", "exponential", Argument::none, make_exponential,
     "i joined to i +- 1, 2, 4, 8, ... modulo N"},
    {"regular", "regular:4", Argument::required, make_regular,
     "random, every node with K neighbours; redrawn until connected"},
    {"geometric", "geometric:0.5", Argument::required, make_geometric,
     "random points of the unit square, joined within distance R; redrawn until connected"},
    {"barbell", "barbell", Argument::none, make_barbell,
     "two cliques of N/2 joined by one edge (odd N: the second has one more)"},
    {"file", "file:edges.txt", Argument::required, make_from_file,
     "one edge 'i j' per line, nodes from 0, # comments"},
};

}  // namespace

Graph make_graph(std::string_view text, std::size_t nodes, std::uint64_t seed) {
  const auto spec = split_spec(text);
  const auto& topology = find_row(kTopologies, spec, "graph");
  require(nodes >= 1 && nodes <= kMaxNodes, ErrorKind::usage, "graph '", text, "': expected 1 to ",
          kMaxNodes, " agents, found ", nodes);
  return topology.make({spec, nodes, seed});
}

std::vector<GraphInfo> graph_table() {
  std::vector<GraphInfo> table;
  for (const auto& t : kTopologies)
    table.push_back({std::string(t.name), std::string(t.example), std::string(t.help)});
  return table;
}

}  // namespace porter
