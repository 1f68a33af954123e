// SPDX-License-Identifier: Apache-2.0
// Random topologies. Attempt t draws from the stream (seed, Draw::graph, 0, t), and the first
// connected draw is the graph.
#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

using Edge = Graph::Edge;

constexpr std::uint32_t kAttempts = 1000;

bool is_connected(std::size_t nodes, const std::vector<Edge>& edges) {
  std::vector<std::uint32_t> parent(nodes);
  for (std::size_t i = 0; i < nodes; ++i) parent[i] = static_cast<std::uint32_t>(i);
  const auto root = [&](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  std::size_t parts = nodes;
  for (const auto& [i, j] : edges) {
    const auto a = root(i), b = root(j);
    if (a == b) continue;
    parent[a] = b;
    --parts;
  }
  return parts == 1;
}

// `draw(rng)` gives the edges of one attempt; `advice` ends the message when none is connected.
template <class DrawEdges>
Graph first_connected(const GraphRequest& request, DrawEdges draw, const std::string& advice) {
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    auto edges = draw(RngStream(request.seed, Draw::graph, 0, attempt));
    if (is_connected(request.nodes, edges)) return {request.nodes, std::move(edges)};
  }
  fail(ErrorKind::usage, "graph '", request.spec.text, "' with ", request.nodes,
       " agents: none of ", kAttempts, " draws was connected; ", advice);
}

double required_number(const GraphRequest& request, const char* expected) {
  const auto number = parse_number<double>(request.spec.argument.value_or(""));
  require(number && std::isfinite(*number), ErrorKind::usage, "graph '", request.spec.text,
          "': expected ", expected);
  return *number;
}

// Every node joined to its K nearest on a circle (for odd K also to the opposite one).
std::vector<Edge> circulant(std::size_t nodes, std::size_t degree) {
  std::vector<Edge> edges;
  const auto add = [&](std::size_t i, std::size_t j) {
    edges.emplace_back(std::min(i, j), std::max(i, j));
  };
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t k = 1; k <= degree / 2; ++k) add(i, (i + k) % nodes);
  if (degree % 2 == 1)
    for (std::size_t i = 0; i < nodes / 2; ++i) add(i, i + nodes / 2);
  return edges;
}

// A random walk over K-regular graphs: replace edges ab, cd by ad, cb where that makes no loop and
// no double edge. The steps are symmetric, so the walk's stationary law is uniform, and unlike the
// pairing model it does not slow down as K grows.
void switch_edges(std::size_t nodes, std::vector<Edge>& edges, RngStream rng) {
  std::vector<bool> joined(nodes * nodes, false);
  const auto set = [&](std::size_t i, std::size_t j, bool value) {
    joined[i * nodes + j] = joined[j * nodes + i] = value;
  };
  for (const auto& [i, j] : edges) set(i, j, true);
  const std::size_t steps = 30 * edges.size();
  for (std::size_t step = 0; step < steps; ++step) {
    auto& first = edges[rng.below(edges.size())];
    auto& second = edges[rng.below(edges.size())];
    const auto [a, b] = first;
    auto [c, d] = second;
    if (rng.below(2) == 1) std::swap(c, d);
    if (a == d || c == b || joined[a * nodes + d] || joined[c * nodes + b]) continue;
    set(a, b, false);
    set(c, d, false);
    set(a, d, true);
    set(c, b, true);
    first = std::minmax(a, d);
    second = std::minmax(c, b);
  }
}

// The pairs (i, j) with rng.uniform() < p, drawn row by row; the words come in bulk, as there are
// n^2 / 2 of them. A row without a pair whose node has none above it either ends the draw: it
// cannot be connected.
std::vector<Edge> independent_pairs(std::size_t nodes, double p, RngStream rng) {
  const auto threshold = static_cast<std::uint64_t>(std::ceil(p * 0x1p53));
  std::vector<Edge> edges;
  std::vector<bool> joined(nodes, false);
  std::vector<std::uint32_t> words(2 * nodes);
  for (std::uint32_t i = 0; i + 1 < nodes; ++i) {
    const std::size_t pairs = nodes - 1 - i;
    rng.fill_words(std::span(words).first(2 * pairs));
    for (std::size_t k = 0; k < pairs; ++k) {
      const auto word = (std::uint64_t{words[2 * k + 1]} << 32) | words[2 * k];
      if (word >> 11 >= threshold) continue;
      const auto j = static_cast<std::uint32_t>(i + 1 + k);
      edges.emplace_back(i, j);
      joined[i] = joined[j] = true;
    }
    if (!joined[i]) break;
  }
  return edges;
}

}  // namespace

Graph make_erdos_renyi(const GraphRequest& request) {
  const double p = required_number(request, "a probability in (0, 1], as in erdos-renyi:0.8");
  require(p > 0 && p <= 1, ErrorKind::usage, "graph '", request.spec.text,
          "': expected a probability in (0, 1], found ", p);
  expect_edges(request, p * pairs_of(request.nodes));
  const auto draw = [&](RngStream rng) { return independent_pairs(request.nodes, p, rng); };
  // At p = log(n) / n isolated nodes disappear (Erdos and Renyi 1960).
  const auto n = static_cast<double>(request.nodes);
  const double steps = n < 1000 ? 100 : 10'000;  // two decimals, or four
  return first_connected(
      request, draw,
      concat("p = ", p, " is too small for n = ", request.nodes, ", try a p of at least ",
             std::min(1.0, std::ceil(steps * 1.5 * std::log(n) / n) / steps)));
}

Graph make_regular(const GraphRequest& request) {
  const auto degree = parse_number<std::size_t>(request.spec.argument.value_or(""));
  require(degree.has_value(), ErrorKind::usage, "graph '", request.spec.text,
          "': expected the degree of every node, as in regular:4");
  const std::size_t nodes = request.nodes;
  require(*degree < nodes, ErrorKind::usage, "graph '", request.spec.text, "' with ", nodes,
          " agents: the degree must be below the number of agents");
  require(nodes * *degree % 2 == 0, ErrorKind::usage, "graph '", request.spec.text, "' with ",
          nodes, " agents: degree times agents must be even, found ", nodes * *degree);
  require(*degree >= 2 || nodes <= *degree + 1, ErrorKind::usage, "graph '", request.spec.text,
          "' with ", nodes, " agents cannot be connected; the degree must be at least 2");
  expect_edges(request, 0.5 * static_cast<double>(nodes * *degree));
  const auto draw = [&](RngStream rng) {
    auto edges = circulant(nodes, *degree);
    switch_edges(nodes, edges, rng);
    return edges;
  };
  return first_connected(request, draw, "try a larger degree");
}

Graph make_geometric(const GraphRequest& request) {
  const double radius = required_number(request, "a positive radius, as in geometric:0.5");
  require(radius > 0, ErrorKind::usage, "graph '", request.spec.text,
          "': expected a positive radius, found ", radius);
  const auto draw = [&](RngStream rng) {
    std::vector<std::pair<double, double>> points(request.nodes);
    for (auto& [x, y] : points) {
      x = rng.uniform();
      y = rng.uniform();
    }
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < request.nodes; ++i) {
      for (std::uint32_t j = i + 1; j < request.nodes; ++j) {
        const double dx = points[i].first - points[j].first;
        const double dy = points[i].second - points[j].second;
        if (dx * dx + dy * dy <= radius * radius) edges.emplace_back(i, j);
      }
      expect_edges(request, static_cast<double>(edges.size()));
    }
    return edges;
  };
  return first_connected(
      request, draw,
      concat("radius ", radius, " is too small for n = ", request.nodes, ", try a larger one"));
}

}  // namespace porter
