// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "porter/graph/graph.hpp"

namespace porter {

/// The edges of a text with one `i j` per line, nodes from 0, `#` comments and empty lines skipped.
/// `name` is what errors call the source. A line that is not two numbers is Error{io}; a node
/// >= nodes, a loop or a repeated edge is Error{usage}; both name the line.
std::vector<Graph::Edge> decode_edges(std::string_view text, const std::string& name,
                                      std::size_t nodes);

}  // namespace porter
