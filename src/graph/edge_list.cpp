// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

// The edge on a line, or nothing if the line is empty or a comment.
std::optional<Graph::Edge> decode_line(std::string_view line, const std::string& where,
                                       std::size_t nodes) {
  auto rest = line.substr(0, line.find('#'));
  const auto first = next_word(rest), second = next_word(rest), third = next_word(rest);
  if (first.empty()) return std::nullopt;
  const auto i = parse_number<std::uint64_t>(first), j = parse_number<std::uint64_t>(second);
  require(i && j && third.empty(), ErrorKind::io, where,
          ": expected two node numbers such as '0 3', found '", line.substr(0, 80), "'");
  require(*i < nodes && *j < nodes, ErrorKind::usage, where, ": edge ", *i, " ", *j, ", but with ",
          nodes, " agents the nodes are 0 to ", nodes - 1);
  require(*i != *j, ErrorKind::usage, where, ": edge ", *i, " ", *j,
          ": a node has no edge to itself");
  return Graph::Edge(std::min(*i, *j), std::max(*i, *j));
}

}  // namespace

std::vector<Graph::Edge> decode_edges(std::string_view text, const std::string& name,
                                      std::size_t nodes) {
  std::map<Graph::Edge, std::size_t> lines;  // of each edge seen
  std::size_t number = 0;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto where = concat(name, ":", ++number);
    const auto edge = decode_line(line, where, nodes);
    if (!edge) continue;
    const auto [seen, is_new] = lines.emplace(*edge, number);
    require(is_new, ErrorKind::usage, where, ": edge ", edge->first, " ", edge->second,
            " is already on line ", seen->second);
  }
  std::vector<Graph::Edge> edges;
  for (const auto& [edge, line] : lines) edges.push_back(edge);
  return edges;
}

Graph make_from_file(const GraphRequest& request) {
  const std::string name(*request.spec.argument);
  auto edges = decode_edges(read_file(name), name, request.nodes);
  try {
    return {request.nodes, std::move(edges)};
  } catch (const Error& error) {
    fail(error.kind(), name, ": ", error.what());
  }
}

}  // namespace porter
