// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/changing_network.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

// Jumps of 1, or of all powers of two.
std::vector<Arc> circulant_arcs(std::size_t nodes, std::size_t longest_jump) {
  std::vector<Arc> arcs;
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t jump = 1; jump < nodes && jump <= longest_jump; jump *= 2)
      arcs.emplace_back(i, (i + jump) % nodes);
  std::ranges::sort(arcs);
  return arcs;
}

void require_strongly_connected(const std::vector<Arc>& arcs, std::size_t nodes,
                                std::string_view spec) {
  std::vector<std::vector<std::uint32_t>> receivers(nodes), senders(nodes);
  for (const auto& [sender, receiver] : arcs) {
    receivers[sender].push_back(receiver);
    senders[receiver].push_back(sender);
  }
  const auto there = reached_from_first(receivers), back = reached_from_first(senders);
  for (std::size_t i = 0; i < nodes; ++i)
    require(there[i] && back[i], ErrorKind::usage, spec,
            ": the directed graph is not strongly connected: there is no way from agent ",
            there[i] ? i : 0, " to agent ", there[i] ? 0 : i);
}

}  // namespace

std::vector<Arc> make_arcs(std::string_view text, std::size_t nodes) {
  const auto spec = split_spec(text);
  std::vector<Arc> arcs;
  if (spec.name == "arcs" && spec.argument) {
    const std::string name(*spec.argument);
    arcs = decode_arcs(read_file(name), name, nodes);
  } else {
    require(text == "directed-ring" || text == "directed-exponential", ErrorKind::usage,
            "expected directed-ring, directed-exponential or arcs:FILE, found \"", text, "\"");
    arcs = circulant_arcs(nodes, text == "directed-ring" ? 1 : nodes);
  }
  require_strongly_connected(arcs, nodes, text);
  return arcs;
}

}  // namespace porter
