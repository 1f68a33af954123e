// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "porter/core/rng.hpp"

namespace porter {

/// Normal numbers come in groups of this many; a part starts at a multiple of it.
inline constexpr std::size_t kNoiseAlignment = 64;

/// The simulated Gaussian perturbation of one agent in one round: independent standard normals,
/// numbered from 0 to 2^33 - 1, of which any part can be made alone. docs/randomness.md defines
/// them; every processor gives the same bits, all of them finite. The tails follow the normal law
/// beyond 9 standard deviations. Not for secrets: whoever knows the seed knows the noise.
class NormalNoise {
 public:
  NormalNoise(std::uint64_t seed, std::uint32_t agent, std::uint32_t round, Draw use = Draw::noise)
      : seed_(seed), agent_(agent), round_(round), use_(use) {}

  /// out[i] = normal number first + i. `first` is a multiple of kNoiseAlignment, out has any size.
  void fill(std::size_t first, std::span<float> out) const;

 private:
  std::uint64_t seed_;
  std::uint32_t agent_, round_;
  Draw use_;
};

}  // namespace porter
