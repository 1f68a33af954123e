// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"

namespace porter {

/// A standalone SVG of the graph: edges as wide as their weights in W, negative ones dashed in
/// another colour, weights written out where there is room. Grids and tori are drawn row by row,
/// stars around their centre, everything else on a circle. It brings its own background for light
/// and dark pages, and its style rules apply only inside it, so it can stand inside an HTML page.
/// Of more than 2000 agents or 5000 edges it draws an even sample and says so.
/// `mixing` must belong to `graph`. The same input gives the same bytes.
std::string graph_svg(const Graph& graph, const Mixing& mixing);

}  // namespace porter
