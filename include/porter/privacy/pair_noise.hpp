// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "porter/core/choice.hpp"

namespace porter {

/// How the noises of different agents hang together.
enum class NoiseShape {
  independent,  ///< not at all
  pairwise,     ///< neighbours share a part, with opposite signs
  optimal,      ///< the same, and how large that part is, one ratio for all pairs, is worked out
};
template <>
struct Choices<NoiseShape> {
  static constexpr Choice<NoiseShape> table[] = {{"independent", NoiseShape::independent},
                                                 {"pairwise", NoiseShape::pairwise},
                                                 {"optimal", NoiseShape::optimal}};
};

/// Who shares noise with whom: each pair once, the lower agent first. Agent i adds
///   N(0, s^2 I)  +  sum over its pairs of +-v,   v ~ N(0, c^2 I),  + at the lower, - at the higher
/// so that the covariance over agents is  S = s^2 I + c^2 L,  L the Laplacian of the pairs.
struct NoisePairs {
  std::size_t agents = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
};

/// How many pairs the agent is in that is in the most.
std::size_t most_pairs(const NoisePairs& pairs);

/// What that noise is worth to the worst-off agent, whoever the colluders are.
struct PairWorth {
  /// sigma_eff / s, not above the true value: against whoever sees the noised gradients of all
  /// agents, and the secrets of the colluders, an agent is protected as by independent noise of
  /// deviation sigma_eff = 1 / sqrt((S_honest^-1)_ii).
  double gain = 1;
  bool enumerated = false;  ///< all sets of colluders were looked at; else a bound by degrees
};

/// `ratio` = c / s >= 0, and so many colluders at most. Sets of exactly so many are looked at,
/// which suffices; where they are too many, each agent counts on nothing but its links to the
/// neighbours that are left when so many collude (docs/correlated-noise.md has the proofs). Sums,
/// products and roots in a fixed order: every machine finds the same bits. Error{usage} for a ratio
/// that is no number from 0 to kLargestPairRatio, or as many colluders as agents.
PairWorth pair_worth(const NoisePairs& pairs, double ratio, std::size_t colluders);
inline constexpr double kLargestPairRatio = 1024;

/// The noise of a run whose agents share some.
struct SharedNoise {
  std::shared_ptr<const NoisePairs> pairs;
  double ratio = 0;  ///< c / s
  PairWorth worth = {};
};

/// A quantity  own s^2 + shared c^2  of noise, such as a variance after gossip.
struct PairCost {
  double own = 1, shared = 0;
};

/// The c / s of least cost at a given sigma_eff, on a ladder of quarter powers of 2 from 1/16 to
/// 64; 0 where shared noise does not pay. The cost  sigma_eff^2 (own + shared x) / gain^2(x),  x =
/// (c/s)^2, falls and then rises, as gain^2 is concave in x, so the walk up the ladder ends at the
/// first step that does not pay.
double best_pair_ratio(const NoisePairs& pairs, std::size_t colluders, const PairCost& cost);

}  // namespace porter
