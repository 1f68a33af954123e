// SPDX-License-Identifier: Apache-2.0
// Rules with a formula. L is the graph's Laplacian, d_i the degree of node i.
#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/shapes.hpp"
#include "mixing_rules.hpp"
#include "porter/core/error.hpp"
#include "spectrum.hpp"

namespace porter {
namespace {

template <class Weight>
Mixing by_edge(const Graph& graph, Weight weight, std::string method) {
  std::vector<double> weights;
  for (const auto& [i, j] : graph.edges()) weights.push_back(weight(i, j));
  return mixing_from_edges(graph, weights, std::move(method));
}

double metropolis_weight(const Graph& graph, std::uint32_t i, std::uint32_t j) {
  return 1.0 / static_cast<double>(1 + std::max(graph.degree(i), graph.degree(j)));
}

// The eigenvalues of I - c L are 1 - c l, so that of a constant weight c on a graph whose Laplacian
// is known needs no computation.
MixingRate edge_rate(const Graph& graph, const MixingMatrix& weights,
                     std::span<const double> edge_weights) {
  const bool constant = std::adjacent_find(edge_weights.begin(), edge_weights.end(),
                                           std::not_equal_to<>()) == edge_weights.end();
  if (graph.nodes() > kDenseNodes && constant)
    if (const auto ends = known_laplacian_ends(graph)) {
      const double c = edge_weights.front();
      return {.alpha = std::max(std::abs(1 - c * ends->l_2), std::abs(1 - c * ends->l_n)),
              .error = 0,
              .method = "closed form",
              .note = {}};
    }
  return mixing_rate(weights);
}

}  // namespace

void set_rate(Mixing& mixing, const MixingRate& rate) {
  mixing.alpha = rate.alpha;
  mixing.alpha_error = rate.error;
  mixing.alpha_method = rate.method;
  mixing.note = rate.note;
}

Mixing mixing_from_edges(const Graph& graph, std::span<const double> edge_weights,
                         std::string method) {
  std::vector<std::vector<MixingWeight>> rows(graph.nodes());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].reserve(graph.degree(i) + 1);
  // The edges are sorted, so the neighbours below i reach row i in order before the diagonal does,
  // and those above after it.
  std::size_t e = 0;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::size_t diagonal = rows[i].size();
    rows[i].push_back({i, 0});
    for (; e < edge_weights.size() && graph.edges()[e].first == i; ++e) {
      const auto j = graph.edges()[e].second;
      rows[i].push_back({j, edge_weights[e]});
      rows[j].push_back({i, edge_weights[e]});
    }
    double off_diagonal = 0;
    for (const auto& entry : rows[i]) off_diagonal += entry.weight;
    rows[i][diagonal].weight = 1 - off_diagonal;
  }
  Mixing mixing;
  mixing.weights = MixingMatrix(rows);
  mixing.method = std::move(method);
  set_rate(mixing, edge_rate(graph, mixing.weights, edge_weights));
  return mixing;
}

BestConstant best_constant(const Graph& graph) {
  const auto [l_2, l_n] = laplacian_ends(graph);
  return {2 / (l_2 + l_n), (l_n - l_2) / (l_n + l_2)};
}

// W = I - 2 / (l_2 + l_n) L (Xiao and Boyd 2004, section 4.1).
Mixing mix_best_constant(const Graph& graph, const Spec&) {
  const double c = graph.nodes() == 1 ? 0.0 : best_constant(graph).weight;
  return by_edge(
      graph, [&](auto, auto) { return c; }, "best-constant");
}

// W_ij = 1 / (1 + max(d_i, d_j)).
Mixing mix_metropolis(const Graph& graph, const Spec&) {
  return by_edge(
      graph, [&](auto i, auto j) { return metropolis_weight(graph, i, j); }, "metropolis");
}

// W = (I + metropolis) / 2: eigenvalues in [0, 1].
Mixing mix_lazy(const Graph& graph, const Spec&) {
  return by_edge(
      graph, [&](auto i, auto j) { return metropolis_weight(graph, i, j) / 2; },
      "lazy: (I + metropolis) / 2");
}

// W = I - L / (1 + d_max). Without the 1 an even ring would never mix.
Mixing mix_max_degree(const Graph& graph, const Spec&) {
  const double weight = 1.0 / static_cast<double>(1 + degrees_of(graph).largest);
  return by_edge(
      graph, [&](auto, auto) { return weight; }, "max-degree");
}

Mixing mix_average(const Graph& graph, const Spec&) {
  const std::size_t n = graph.nodes();
  require(graph.edges().size() == n * (n - 1) / 2, ErrorKind::usage,
          "mixing 'average' needs the complete graph: expected ", n * (n - 1) / 2, " edges, found ",
          graph.edges().size());
  return by_edge(
      graph, [&](auto, auto) { return 1.0 / static_cast<double>(n); }, "average");
}

}  // namespace porter
