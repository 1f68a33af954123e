// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/phases.hpp"

#include <algorithm>
#include <optional>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxPhases = 64;
constexpr double kLeast = 1e-3, kMost = 1e3;

bool is_factor(const std::optional<double>& value) {
  return value && *value >= kLeast && *value <= kMost;
}

std::optional<NoisePhase> parse_phase(std::string_view text) {
  const auto first = text.find('x');
  if (first == text.npos) return std::nullopt;
  const auto rest = text.substr(first + 1);
  const auto second = rest.find('x');
  const auto rounds = parse_number<std::uint32_t>(text.substr(0, first));
  const auto noise = parse_number<double>(rest.substr(0, second));
  const auto clip =
      second == rest.npos ? std::optional(1.0) : parse_number<double>(rest.substr(second + 1));
  if (!rounds || *rounds == 0 || !is_factor(noise) || !is_factor(clip)) return std::nullopt;
  return NoisePhase{.rounds = *rounds, .noise = *noise, .clip = *clip};
}

}  // namespace

std::vector<NoisePhase> parse_phases(std::string_view text) {
  std::vector<NoisePhase> phases;
  for (auto rest = text;;) {
    const auto cell = rest.substr(0, rest.find(','));
    const auto phase = parse_phase(cell);
    require(phase.has_value(), ErrorKind::usage,
            "expected phases ROUNDSxNOISE or ROUNDSxNOISExCLIP such as 100x1,100x0.7x0.5, factors "
            "from ",
            kLeast, " to ", kMost, "; found \"", text, "\"");
    phases.push_back(*phase);
    require(phases.size() <= kMaxPhases, ErrorKind::usage, "expected at most ", kMaxPhases,
            " phases, found more in \"", text, "\"");
    if (cell.size() == rest.size()) return phases;
    rest.remove_prefix(cell.size() + 1);
  }
}

std::string to_string(std::span<const NoisePhase> phases) {
  std::string text;
  for (const auto& [rounds, noise, clip] : phases) {
    if (!text.empty()) text += ',';
    text += concat(rounds, 'x', shortest(noise));
    if (clip != 1) text += 'x' + shortest(clip);
  }
  return text;
}

std::uint64_t total_rounds(std::span<const NoisePhase> phases) {
  std::uint64_t total = 0;
  for (const auto& phase : phases) total += phase.rounds;
  return total;
}

std::size_t phase_of(std::span<const NoisePhase> phases, std::uint64_t round) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < phases.size(); ++i)
    if (round <= (end += phases[i].rounds)) return i;
  return phases.empty() ? 0 : phases.size() - 1;
}

std::vector<LikeRounds> like_rounds(std::span<const NoisePhase> phases, std::uint64_t rounds) {
  std::vector<LikeRounds> list = {{0, phases.empty() ? 1 : phases.front().noise}};
  for (const auto& phase : phases) {
    const auto steps = std::min<std::uint64_t>(phase.rounds, rounds);
    if (steps == 0) break;
    if (list.back().noise != phase.noise) list.push_back({0, phase.noise});
    list.back().steps += steps;
    rounds -= steps;
  }
  list.back().steps += rounds;
  return list;
}

bool never_cheaper(std::span<const NoisePhase> phases) {
  return std::ranges::is_sorted(phases, std::ranges::greater{}, &NoisePhase::noise);
}

}  // namespace porter
