// SPDX-License-Identifier: Apache-2.0
// The topologies and the mixing rules: a new one is its function and its row.
#include "core/registry.hpp"

#include <algorithm>
#include <iterator>

#include "mixing_rules.hpp"
#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

// Random topologies look at all pairs of nodes: this many take seconds and 300 MB.
constexpr std::size_t kMaxNodes = 50'000;
// All pairs of 10,000 nodes; with W they take 2 GB.
constexpr double kMaxEdges = 5e7;

enum class Argument { none, optional, required };

template <class Make>
struct Row {
  std::string_view name, example;
  Argument argument;
  Make make;
  std::string_view help;
};

constexpr Row<Graph (*)(const GraphRequest&)> kTopologies[] = {
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

constexpr Row<Mixing (*)(const Graph&, const Spec&)> kRules[] = {
    {"fdla", "fdla", Argument::none, mix_fdla,
     "the fastest symmetric W on the graph, with a certified lower bound"},
    {"best-constant", "best-constant", Argument::none, mix_best_constant,
     "the fastest W with one weight for all edges"},
    {"metropolis", "metropolis", Argument::none, mix_metropolis,
     "1 / (1 + larger degree of the edge); needs no global knowledge"},
    {"max-degree", "max-degree", Argument::none, mix_max_degree,
     "1 / (1 + largest degree) on every edge"},
    {"lazy", "lazy", Argument::none, mix_lazy, "(I + metropolis) / 2; no negative eigenvalues"},
    {"average", "average", Argument::none, mix_average, "1/n everywhere; complete graph only"},
    {"file", "file:W.npy", Argument::required, mix_from_file,
     "a matrix of your own, checked against the graph"},
};

// The row of a registry table that the spec names, checked
// to have an argument where it needs one. `kind` is what errors call it: "graph", "mixing".
template <class Table>
const auto& find_row(const Table& table, const Spec& spec, std::string_view kind) {
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&](const auto& r) { return r.name == spec.name; });
  require(row != std::end(table), ErrorKind::usage, "unknown ", kind, " '", spec.text,
          "', expected one of: ", names_of(table));
  require(row->argument != Argument::none || !spec.argument, ErrorKind::usage, kind, " '",
          spec.text, "': ", spec.name, " takes no argument");
  require(row->argument != Argument::required || !spec.argument.value_or("").empty(),
          ErrorKind::usage, kind, " '", spec.text, "': an argument is missing, as in ",
          row->example);
  return *row;
}

template <class Table>
std::vector<GraphInfo> help_of(const Table& table) {
  std::vector<GraphInfo> help;
  for (const auto& row : table)
    help.push_back({std::string(row.name), std::string(row.example), std::string(row.help)});
  return help;
}

}  // namespace

void expect_edges(const GraphRequest& request, double edges) {
  require(edges <= kMaxEdges, ErrorKind::usage, "graph '", request.spec.text, "' with ",
          request.nodes, " agents: expected at most ", kMaxEdges, " edges, found ", edges);
}

Graph make_graph(std::string_view text, std::size_t nodes, std::uint64_t seed) {
  const auto spec = split_spec(text);
  const auto& topology = find_row(kTopologies, spec, "graph");
  require(nodes >= 1 && nodes <= kMaxNodes, ErrorKind::usage, "graph '", text, "': expected 1 to ",
          kMaxNodes, " agents, found ", nodes);
  return topology.make({spec, nodes, seed});
}

Mixing make_mixing(std::string_view text, const Graph& graph) {
  const auto spec = split_spec(text);
  return find_row(kRules, spec, "mixing").make(graph, spec);
}

std::vector<GraphInfo> graph_table() { return help_of(kTopologies); }
std::vector<MixingInfo> mixing_table() { return help_of(kRules); }

}  // namespace porter
