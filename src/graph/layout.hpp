// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "porter/graph/graph.hpp"

namespace porter {

struct Point {
  double x, y;
};

/// Where the nodes of a picture go, in pixels.
struct Layout {
  double width, height;
  std::vector<Point> nodes;
  double node_radius;
  std::size_t labelled_edges;  ///< weights are written out for at most this many edges
  double label_at = 0.5;       ///< where along an edge its label stands

  bool is_rows = false;  ///< a grid or torus, drawn row by row
};

Layout lay_out(const Graph& graph);

/// An edge of a torus that leads round the end: drawn as an arc beside the row or column.
bool is_wrap(const Layout& layout, const Graph::Edge& edge);

}  // namespace porter
