// SPDX-License-Identifier: Apache-2.0
// Laplacians whose eigenvalues have formulas. The spectrum of a product of graphs is all sums of
// eigenvalues of the factors.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "spectrum.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

double four_sin_squared(double angle) { return 4 * std::pow(std::sin(angle), 2); }

// 2 - 2 cos(pi k / n)
LaplacianEnds path_ends(std::size_t nodes) {
  const double angle = std::numbers::pi / (2.0 * static_cast<double>(nodes));
  return {four_sin_squared(angle), 4 - four_sin_squared(angle)};
}

// 2 - 2 cos(2 pi k / n); two nodes are joined once.
LaplacianEnds ring_ends(std::size_t nodes) {
  if (nodes == 2) return {2, 2};
  const double angle = std::numbers::pi / static_cast<double>(nodes);
  return {four_sin_squared(angle), nodes % 2 == 0 ? 4 : 4 - four_sin_squared(angle / 2)};
}

LaplacianEnds product_ends(const LaplacianEnds& a, const LaplacianEnds& b) {
  return {std::min(a.l_2, b.l_2), a.l_n + b.l_n};
}

}  // namespace

std::optional<LaplacianEnds> known_laplacian_ends(const Graph& graph) {
  const std::size_t n = graph.nodes(), m = graph.edges().size();
  std::size_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, graph.degree(i));
  const auto nodes = static_cast<double>(n);
  if (m == n * (n - 1) / 2) return LaplacianEnds{nodes, nodes};
  if (m == n - 1 && largest == n - 1) return LaplacianEnds{1, nodes};  // star
  if (largest == 2) return m == n ? ring_ends(n) : path_ends(n);
  if (std::has_single_bit(n) && graph.edges() == hypercube_edges(n))
    return LaplacianEnds{2, 2.0 * std::countr_zero(n)};
  if (const auto grid = grid_shape(graph))
    return product_ends(path_ends(grid->rows), path_ends(grid->columns));
  if (const auto torus = torus_shape(graph))
    return product_ends(ring_ends(torus->rows), ring_ends(torus->columns));
  return std::nullopt;
}

}  // namespace porter
