// SPDX-License-Identifier: Apache-2.0
// Topologies that the number of nodes (and a shape) determine.
#include <bit>
#include <set>

#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

using Edge = Graph::Edge;

Edge edge(std::size_t i, std::size_t j) {
  return {static_cast<std::uint32_t>(std::min(i, j)), static_cast<std::uint32_t>(std::max(i, j))};
}

// Sorted, loops and repeated edges dropped: small tori and exponential graphs meet themselves.
std::vector<Edge> simple(const std::vector<Edge>& edges) {
  std::set<Edge> kept;
  for (const auto& e : edges)
    if (e.first != e.second) kept.insert(e);
  return {kept.begin(), kept.end()};
}

void add_clique(std::size_t begin, std::size_t end, std::vector<Edge>& edges) {
  for (std::size_t i = begin; i < end; ++i)
    for (std::size_t j = i + 1; j < end; ++j) edges.push_back(edge(i, j));
}

GridShape most_square(std::size_t nodes) {
  std::size_t rows = 1;
  for (std::size_t r = 1; r * r <= nodes; ++r)
    if (nodes % r == 0) rows = r;
  return {rows, nodes / rows};
}

GridShape requested_shape(const GraphRequest& request) {
  if (!request.spec.argument) return most_square(request.nodes);
  const auto text = *request.spec.argument;
  const auto cross = text.find('x');
  std::optional<std::size_t> rows, columns;
  if (cross != text.npos) {
    rows = parse_number<std::size_t>(text.substr(0, cross));
    columns = parse_number<std::size_t>(text.substr(cross + 1));
  }
  require(rows && columns && *rows >= 1 && *columns >= 1, ErrorKind::usage, "graph '",
          request.spec.text, "': expected a shape such as 3x4, found '", text, "'");
  // Divides instead of multiplying: the product of two numbers from outside may overflow.
  require(request.nodes % *rows == 0 && request.nodes / *rows == *columns, ErrorKind::usage,
          "graph '", request.spec.text, "': expected ", *rows, " x ", *columns, " agents, found ",
          request.nodes);
  return {*rows, *columns};
}

template <class Edges>
std::optional<GridShape> find_shape(const Graph& graph, Edges edges) {
  const std::size_t nodes = graph.nodes();
  // Node 1 is to the right of node 0, so the first row ends where the next edge of 0 leads.
  for (const std::size_t columns : graph.neighbours(0)) {
    const std::size_t rows = nodes / columns;
    if (columns < 2 || rows < 2 || rows * columns != nodes) continue;
    if (edges(GridShape{rows, columns}) == graph.edges()) return GridShape{rows, columns};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Edge> grid_edges(GridShape shape) {
  std::vector<Edge> edges;
  for (std::size_t r = 0; r < shape.rows; ++r)
    for (std::size_t c = 0; c < shape.columns; ++c) {
      const std::size_t node = r * shape.columns + c;
      if (c + 1 < shape.columns) edges.push_back(edge(node, node + 1));
      if (r + 1 < shape.rows) edges.push_back(edge(node, node + shape.columns));
    }
  return edges;
}

std::vector<Edge> torus_edges(GridShape shape) {
  std::vector<Edge> edges;
  for (std::size_t r = 0; r < shape.rows; ++r)
    for (std::size_t c = 0; c < shape.columns; ++c) {
      const std::size_t node = r * shape.columns + c;
      edges.push_back(edge(node, r * shape.columns + (c + 1) % shape.columns));
      edges.push_back(edge(node, (r + 1) % shape.rows * shape.columns + c));
    }
  return simple(edges);
}

std::vector<Edge> hypercube_edges(std::size_t nodes) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t bit = 1; bit < nodes; bit *= 2)
      if ((i & bit) == 0) edges.push_back(edge(i, i | bit));
  return edges;
}

std::optional<GridShape> grid_shape(const Graph& graph) { return find_shape(graph, grid_edges); }

std::optional<GridShape> torus_shape(const Graph& graph) { return find_shape(graph, torus_edges); }

Graph make_ring(const GraphRequest& request) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < request.nodes; ++i) edges.push_back(edge(i, (i + 1) % request.nodes));
  return {request.nodes, simple(edges)};
}

Graph make_path(const GraphRequest& request) {
  return {request.nodes, grid_edges({1, request.nodes})};
}

Graph make_star(const GraphRequest& request) {
  std::vector<Edge> edges;
  for (std::size_t i = 1; i < request.nodes; ++i) edges.push_back(edge(0, i));
  return {request.nodes, edges};
}

Graph make_complete(const GraphRequest& request) {
  expect_edges(request, pairs_of(request.nodes));
  std::vector<Edge> edges;
  add_clique(0, request.nodes, edges);
  return {request.nodes, edges};
}

Graph make_grid(const GraphRequest& request) {
  return {request.nodes, grid_edges(requested_shape(request))};
}

Graph make_torus(const GraphRequest& request) {
  return {request.nodes, torus_edges(requested_shape(request))};
}

Graph make_hypercube(const GraphRequest& request) {
  require(std::has_single_bit(request.nodes), ErrorKind::usage,
          "graph 'hypercube' needs a power of two as the number of agents, found ", request.nodes);
  return {request.nodes, hypercube_edges(request.nodes)};
}

Graph make_exponential(const GraphRequest& request) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < request.nodes; ++i)
    for (std::size_t jump = 1; jump < request.nodes; jump *= 2)
      edges.push_back(edge(i, (i + jump) % request.nodes));
  return {request.nodes, simple(edges)};
}

// Of an odd number of nodes the second clique gets one more.
Graph make_barbell(const GraphRequest& request) {
  require(request.nodes >= 2, ErrorKind::usage, "graph 'barbell' needs at least 2 agents, found ",
          request.nodes);
  const std::size_t half = request.nodes / 2;
  expect_edges(request, 1 + pairs_of(half) + pairs_of(request.nodes - half));
  std::vector<Edge> edges = {edge(half - 1, half)};
  add_clique(0, half, edges);
  add_clique(half, request.nodes, edges);
  return {request.nodes, edges};
}

}  // namespace porter
