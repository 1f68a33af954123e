// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text.hpp"
#include "graph/shapes.hpp"
#include "porter/graph/changing_network.hpp"
#include "porter/graph/graph.hpp"

namespace porter {

/// What a topology is built from. `nodes` >= 1.
struct GraphRequest {
  Spec spec;
  std::size_t nodes;
  std::uint64_t seed;
};

/// Error{usage} where the graph would have too many edges to be held, before they are there.
void expect_edges(const GraphRequest& request, double edges);

inline double pairs_of(std::size_t nodes) {
  return 0.5 * static_cast<double>(nodes) * (static_cast<double>(nodes) - 1);
}

// One function per topology; the table in registry.cpp lists them.
Graph make_ring(const GraphRequest& request);
Graph make_path(const GraphRequest& request);
Graph make_star(const GraphRequest& request);
Graph make_complete(const GraphRequest& request);
Graph make_grid(const GraphRequest& request);
Graph make_torus(const GraphRequest& request);
Graph make_hypercube(const GraphRequest& request);
Graph make_exponential(const GraphRequest& request);
Graph make_barbell(const GraphRequest& request);
Graph make_erdos_renyi(const GraphRequest& request);
Graph make_regular(const GraphRequest& request);
Graph make_geometric(const GraphRequest& request);
Graph make_from_file(const GraphRequest& request);

/// The edges of a text with one `i j` per line, nodes from 0, `#` comments and empty lines skipped.
/// `name` is what errors call the source. A line that is not two numbers is Error{io}; a node
/// >= nodes, a loop or a repeated edge is Error{usage}; both name the line.
std::vector<Graph::Edge> decode_edges(std::string_view text, const std::string& name,
                                      std::size_t nodes);
/// The same for arcs, from the first to the second: `0 1` and `1 0` are two.
std::vector<Arc> decode_arcs(std::string_view text, const std::string& name, std::size_t nodes);

/// Which nodes node 0 leads to, itself among them.
std::vector<bool> reached_from_first(const std::vector<std::vector<std::uint32_t>>& neighbours);

}  // namespace porter
