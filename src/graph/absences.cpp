// SPDX-License-Identifier: Apache-2.0
#include "porter/graph/absences.hpp"

#include <algorithm>

#include "absence_trace.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

constexpr std::string_view kTraceHeader = "agent,from,to";

// The next cell of a line.
std::string_view next_cell(std::string_view& line) {
  const auto cell = line.substr(0, line.find(','));
  line.remove_prefix(std::min(cell.size() + 1, line.size()));
  return cell;
}

Absences::Span decode_absence(std::string_view line, const std::string& where, std::size_t agents) {
  auto rest = line;
  const auto cells = std::ranges::count(line, ',') + 1;
  const auto agent = parse_number<std::uint32_t>(next_cell(rest)),
             from = parse_number<std::uint32_t>(next_cell(rest)),
             to = parse_number<std::uint32_t>(next_cell(rest));
  require(cells == 3 && agent && from && to, ErrorKind::io, where,
          ": expected an agent and its first and last absent round such as '3,10,20', found '",
          without_controls(std::string(line.substr(0, 80))), "'");
  require(*agent < agents, ErrorKind::usage, where, ": agent ", *agent, ", but with ", agents,
          " agents they are 0 to ", agents - 1);
  require(*from >= 1 && *from <= *to, ErrorKind::usage, where,
          ": expected rounds from 1 on, the first not after the last; found ", *from, " to ", *to);
  return {*agent, *from, *to};
}

// The probability that a spec says, where it is no trace.
double parse_probability(std::string_view spec) {
  const auto probability = parse_number<double>(spec);
  require(probability && *probability >= 0 && *probability < 1, ErrorKind::usage,
          "expected a probability from 0 to below 1, or trace:FILE.csv, found \"", spec, "\"");
  return *probability;
}

bool is_trace(std::string_view spec) {
  const auto [text, name, argument] = split_spec(spec);
  return name == "trace" && argument && !argument->empty();
}

}  // namespace

Absences::Absences(std::vector<Span> spans) : spans_(std::move(spans)) {}

bool Absences::operator()(std::size_t agent, std::uint32_t round) const {
  const auto id = static_cast<std::uint32_t>(agent);
  if (probability_ > 0) return RngStream(seed_, Draw::absence, id, round).uniform() < probability_;
  return std::ranges::any_of(spans_, [&](const Span& span) {
    return span.agent == id && span.from <= round && round <= span.to;
  });
}

std::vector<Absences::Span> decode_absences(std::string_view text, const std::string& name,
                                            std::size_t agents) {
  std::vector<Absences::Span> spans;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto where = concat(name, ":", number);
    if (number == 1)
      require(line == kTraceHeader, ErrorKind::io, where, ": expected the columns ", kTraceHeader,
              ", found '", without_controls(std::string(line.substr(0, 80))), "'");
    else if (!line.empty())
      spans.push_back(decode_absence(line, where, agents));
  }
  return spans;
}

Absences make_absences(std::string_view spec, std::size_t agents, std::uint64_t seed) {
  if (!is_trace(spec)) return {parse_probability(spec), seed};
  const std::string name(*split_spec(spec).argument);
  return Absences(decode_absences(read_file(name), name, agents));
}

bool is_never_absent(std::string_view spec) {
  return !is_trace(spec) && parse_probability(spec) == 0;
}

}  // namespace porter
