// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "topologies.hpp"

namespace porter {
namespace {

double grid_pitch(GridShape shape) {
  const auto longest = static_cast<double>(std::max(shape.rows, shape.columns) - 1);
  return std::clamp(760 / longest, 14.0, 92.0);
}

Layout in_rows(GridShape shape, double margin, std::size_t labelled_edges) {
  const double pitch = grid_pitch(shape);
  Layout layout{.width = 2 * margin + pitch * static_cast<double>(shape.columns - 1),
                .height = 2 * margin + pitch * static_cast<double>(shape.rows - 1),
                .nodes = {},
                .node_radius = std::min(15.0, 0.22 * pitch),
                .labelled_edges = pitch < 70 ? 0 : labelled_edges,
                .label_at = 0.5,
                .is_rows = true};
  for (std::size_t r = 0; r < shape.rows; ++r)
    for (std::size_t c = 0; c < shape.columns; ++c)
      layout.nodes.push_back(
          {margin + pitch * static_cast<double>(c), margin + pitch * static_cast<double>(r)});
  return layout;
}

// Nodes `first` and up evenly on a circle, clockwise from the top.
Layout on_circle(std::size_t nodes, std::size_t first) {
  const std::size_t around = nodes - first;
  const double radius = std::clamp(11.0 * static_cast<double>(around), 150.0, 360.0);
  const double room =
      2 * std::numbers::pi * radius / static_cast<double>(std::max<std::size_t>(around, 1));
  const double margin = 40, centre = radius + margin;
  Layout layout{.width = 2 * centre,
                .height = 2 * centre,
                .nodes = {},
                .node_radius = std::clamp(0.4 * room, 2.0, 15.0),
                .labelled_edges = 20};
  if (first == 1) layout.nodes.push_back({centre, centre});
  for (std::size_t i = 0; i < around; ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(around);
    layout.nodes.push_back({centre + radius * std::sin(angle), centre - radius * std::cos(angle)});
  }
  return layout;
}

// Place p goes to the p-th Gray code, so that neighbours on the circle are joined.
void in_gray_order(std::vector<Point>& nodes) {
  const auto places = nodes;
  for (std::size_t p = 0; p < nodes.size(); ++p) nodes[p ^ (p >> 1)] = places[p];
}

}  // namespace

Layout lay_out(const Graph& graph) {
  if (const auto grid = grid_shape(graph)) return in_rows(*grid, 44, 100);
  if (const auto torus = torus_shape(graph); torus && torus->rows >= 3 && torus->columns >= 3)
    return in_rows(*torus, 68, 20);
  const std::size_t n = graph.nodes();
  const bool is_star = n >= 4 && graph.edges().size() == n - 1 && graph.degree(0) == n - 1;
  auto layout = on_circle(n, is_star || n == 1 ? 1 : 0);
  if (is_star) layout.label_at = 0.62;  // away from the crowded centre
  if (std::has_single_bit(n) && graph.edges() == hypercube_edges(n)) in_gray_order(layout.nodes);
  return layout;
}

bool is_wrap(const Layout& layout, const Graph::Edge& edge) {
  if (!layout.is_rows) return false;
  const auto &a = layout.nodes[edge.first], &b = layout.nodes[edge.second];
  const auto &origin = layout.nodes[0], &next = layout.nodes[1];
  return std::abs(a.x - b.x) + std::abs(a.y - b.y) > 1.5 * (next.x - origin.x);
}

}  // namespace porter
