// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/device.hpp"
#include "porter/core/rng.hpp"

namespace porter {

inline constexpr std::size_t kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;

/// Counters with this bit set refine rare normals.
inline constexpr std::uint32_t kRefinementBlock = 0x80000000;

PORTER_DEVICE inline std::uint64_t join_words(std::uint32_t low, std::uint32_t high) {
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// philox_block, for both.
PORTER_DEVICE inline std::array<std::uint32_t, 4> philox_words_of(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (std::size_t round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kPhiloxMultiplier0) * counter[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(kPhiloxMultiplier1) * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kPhiloxWeyl0;
    key[1] += kPhiloxWeyl1;
  }
  return counter;
}

/// The address of a stream, as Philox sees it.
struct PhiloxStream {
  PhiloxStream(std::uint64_t seed, Draw purpose, std::uint32_t agent_id, std::uint32_t round_number)
      : round(round_number), agent(agent_id), use(static_cast<std::uint32_t>(purpose)) {
    keys0[0] = static_cast<std::uint32_t>(seed);
    keys1[0] = static_cast<std::uint32_t>(seed >> 32);
    for (std::size_t i = 1; i < kPhiloxRounds; ++i) {
      keys0[i] = keys0[i - 1] + kPhiloxWeyl0;
      keys1[i] = keys1[i - 1] + kPhiloxWeyl1;
    }
  }

  std::array<std::uint32_t, 4> block(std::uint32_t number) const {
    return philox_block({number, round, agent, use}, {keys0[0], keys1[0]});
  }

  std::array<std::uint32_t, kPhiloxRounds> keys0, keys1;  ///< of each round
  std::uint32_t round, agent, use;
};

}  // namespace porter
