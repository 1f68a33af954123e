// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;  // an edge, or an arc: its ends in this order

// The pair on a line, or nothing if the line is empty or a comment. `kind` is what errors call it.
std::optional<Pair> decode_line(std::string_view line, const std::string& where, std::size_t nodes,
                                const char* kind) {
  auto rest = line.substr(0, line.find('#'));
  const auto first = next_word(rest), second = next_word(rest), third = next_word(rest);
  if (first.empty()) return std::nullopt;
  const auto i = parse_number<std::uint64_t>(first), j = parse_number<std::uint64_t>(second);
  require(i && j && third.empty(), ErrorKind::io, where,
          ": expected two node numbers such as '0 3', found '", line.substr(0, 80), "'");
  require(*i < nodes && *j < nodes, ErrorKind::usage, where, ": ", kind, " ", *i, " ", *j,
          ", but with ", nodes, " agents the nodes are 0 to ", nodes - 1);
  require(*i != *j, ErrorKind::usage, where, ": ", kind, " ", *i, " ", *j, ": a node has no ", kind,
          " to itself");
  return Pair(*i, *j);
}

// Sorted by `ends`, which orders the two of a pair.
template <class Ends>
std::vector<Pair> decode_pairs(std::string_view text, const std::string& name, std::size_t nodes,
                               const char* kind, const Ends& ends) {
  std::map<Pair, std::size_t> lines;  // of each pair seen
  std::size_t number = 0;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto where = concat(name, ":", ++number);
    const auto pair = decode_line(line, where, nodes, kind);
    if (!pair) continue;
    const auto [seen, is_new] = lines.emplace(ends(*pair), number);
    require(is_new, ErrorKind::usage, where, ": ", kind, " ", seen->first.first, " ",
            seen->first.second, " is already on line ", seen->second);
  }
  std::vector<Pair> pairs;
  for (const auto& [pair, line] : lines) pairs.push_back(pair);
  return pairs;
}

}  // namespace

std::vector<Graph::Edge> decode_edges(std::string_view text, const std::string& name,
                                      std::size_t nodes) {
  return decode_pairs(text, name, nodes, "edge", [](const Pair& pair) -> Pair {
    return std::minmax(pair.first, pair.second);
  });
}

std::vector<Arc> decode_arcs(std::string_view text, const std::string& name, std::size_t nodes) {
  return decode_pairs(text, name, nodes, "arc", [](const Pair& pair) { return pair; });
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
