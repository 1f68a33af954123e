// SPDX-License-Identifier: Apache-2.0
// Rules with a formula. L is the graph's Laplacian, d_i the degree of node i.
#include <Eigen/Dense>
#include <algorithm>

#include "mixing_rules.hpp"
#include "porter/core/error.hpp"

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

}  // namespace

Mixing mixing_from_edges(const Graph& graph, std::span<const double> edge_weights,
                         std::string method) {
  const std::size_t n = graph.nodes();
  Mixing mixing{.nodes = n,
                .weights = std::vector<double>(n * n, 0.0),
                .alpha_lower_bound = {},
                .method = std::move(method),
                .note = {}};
  std::size_t e = 0;
  for (const auto& [i, j] : graph.edges())
    mixing.weights[i * n + j] = mixing.weights[j * n + i] = edge_weights[e++];
  for (std::size_t i = 0; i < n; ++i) {
    double off_diagonal = 0;
    for (const auto j : graph.neighbours(i)) off_diagonal += mixing.weights[i * n + j];
    mixing.weights[i * n + i] = 1 - off_diagonal;
  }
  mixing.alpha = mixing_rate(n, mixing.weights);
  return mixing;
}

BestConstant best_constant(const Graph& graph) {
  const auto n = static_cast<Eigen::Index>(graph.nodes());
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    laplacian(i, i) = static_cast<double>(graph.degree(static_cast<std::size_t>(i)));
  for (const auto& [i, j] : graph.edges()) laplacian(i, j) = laplacian(j, i) = -1;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(laplacian, Eigen::EigenvaluesOnly);
  const double l_2 = eigen.eigenvalues()[1], l_n = eigen.eigenvalues()[n - 1];
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
  std::size_t largest = 0;
  for (std::size_t i = 0; i < graph.nodes(); ++i) largest = std::max(largest, graph.degree(i));
  const double weight = 1.0 / static_cast<double>(1 + largest);
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
