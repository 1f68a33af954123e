// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/gradients.hpp"

namespace porter {

std::vector<std::vector<std::uint32_t>> listeners(const Graph& graph) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::size_t i = 0; i < graph.nodes(); ++i) all.push_back(graph.neighbours(i));
  return all;
}

}  // namespace porter
