// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// So many rounds with a noise multiplier and a clipping threshold that are these factors of the
/// run's. The deviation of the noise follows both: sigma noise clip.
struct NoisePhase {
  std::uint32_t rounds = 0;
  double noise = 1, clip = 1;

  bool operator==(const NoisePhase&) const = default;
};

/// From "100x1,50x0.7,50x0.7x0.5": ROUNDSxNOISE or ROUNDSxNOISExCLIP; Error{usage} otherwise.
std::vector<NoisePhase> parse_phases(std::string_view text);
std::string to_string(std::span<const NoisePhase> phases);

std::uint64_t total_rounds(std::span<const NoisePhase> phases);

/// Which phase a round from 1 belongs to; rounds after the last phase belong to it. 0 where there
/// are none.
std::size_t phase_of(std::span<const NoisePhase> phases, std::uint64_t round);

/// So many rounds in a row with this factor of the noise multiplier.
struct LikeRounds {
  std::uint64_t steps = 0;
  double noise = 1;
};
/// The first so many rounds, phases with the same factor in a row as one; those after the last
/// phase belong to it. Without phases, or for no rounds, one entry.
std::vector<LikeRounds> like_rounds(std::span<const NoisePhase> phases, std::uint64_t rounds);

/// Whether no phase has more noise, for its clip, than the one before: then a release that counts
/// as one of a later phase is charged at least what it costs.
bool never_cheaper(std::span<const NoisePhase> phases);

}  // namespace porter
