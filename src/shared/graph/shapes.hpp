// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "porter/graph/graph.hpp"

namespace porter {

struct Degrees {
  std::size_t smallest, largest;
};
Degrees degrees_of(const Graph& graph);

/// Rows and columns of a grid.
struct GridShape {
  std::size_t rows, columns;
};
std::vector<Graph::Edge> grid_edges(GridShape shape);
std::vector<Graph::Edge> torus_edges(GridShape shape);
std::vector<Graph::Edge> hypercube_edges(std::size_t nodes);

/// The shape of `graph` if its nodes are those of a grid (or torus), row by row, with at least two
/// rows and columns.
std::optional<GridShape> grid_shape(const Graph& graph);
std::optional<GridShape> torus_shape(const Graph& graph);

}  // namespace porter
