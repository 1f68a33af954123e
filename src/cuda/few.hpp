// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block.hpp"
#include "core/philox.hpp"
#include "core/sampling.hpp"

namespace porter::cuda {

/// What MaskKernel draws, for subsets so small that a thread draws one alone, as choose() of
/// sampling.hpp does: draws one after the other, kept in order.
struct FewKernel {
  static constexpr int kThreads = 128;
  /// Entries of a subset; more are for MaskKernel.
  static constexpr std::uint32_t kMost = 32;

  std::uint64_t seed;
  std::uint32_t use, round, rounds;  ///< use + channel is the Draw
  bool same_for_all;
  std::uint32_t size, kept, channels, drawers, slots;  ///< as MaskKernel has them
  std::uint32_t* positions;
  std::uint16_t* low_halves;  ///< of positions, which are not written then
  std::uint32_t* starts;      ///< of one tile: 0 and `kept`

  std::size_t subsets() const { return std::size_t{drawers} * channels * rounds; }
  std::size_t blocks() const { return (subsets() + kThreads - 1) / kThreads; }
  std::size_t bytes() const { return sizeof(std::uint32_t) * kThreads * kept; }

  PORTER_DEVICE void operator()(const Block& block) const {
    auto* const memory = block.memory_as<std::uint32_t>();
    block.each(kThreads, [&](std::uint32_t t) {
      const std::size_t number = std::size_t{block.x} * kThreads + t;
      const std::size_t all = std::size_t{drawers} * channels;
      if (number >= all * rounds) return;
      const auto channel = static_cast<std::uint32_t>(number % channels);
      const auto drawer = static_cast<std::uint32_t>(number / channels % drawers);
      const std::uint32_t at_round = round + static_cast<std::uint32_t>(number / all);
      choose(memory + t, {drawer, channel, at_round});
      const std::size_t message = at_round % slots * all + number % all;
      starts[2 * message] = 0;
      starts[2 * message + 1] = kept;
      PORTER_ROLLED
      for (std::uint32_t i = 0; i < kept; ++i)
        if (low_halves)
          low_halves[message * kept + i] = static_cast<std::uint16_t>(memory[i * kThreads + t]);
        else
          positions[message * kept + i] = memory[i * kThreads + t];
    });
  }

 private:
  struct Stream {
    std::uint32_t drawer, channel, round;
  };

  // Entry i at chosen[i * kThreads].
  PORTER_DEVICE void choose(std::uint32_t* chosen, const Stream& stream) const {
    std::uint32_t number = 0;
    PORTER_ROLLED
    for (std::uint32_t i = 0; i < kept; ++i) {
      const std::uint32_t last = size - kept + i;
      std::uint32_t drawn = 0;
      PORTER_ROLLED
      while (!draw_from(word(stream, number++), last + 1, drawn)) {
      }
      insert(chosen, i, drawn, last);
    }
  }
  // `drawn`, or, where it is taken, `last`, which is behind all that are there.
  PORTER_DEVICE static void insert(std::uint32_t* chosen, std::uint32_t count, std::uint32_t drawn,
                                   std::uint32_t last) {
    std::uint32_t place = count;
    PORTER_ROLLED
    while (place > 0 && chosen[(place - 1) * kThreads] > drawn) --place;
    if (place > 0 && chosen[(place - 1) * kThreads] == drawn) {
      chosen[count * kThreads] = last;
      return;
    }
    PORTER_ROLLED
    for (std::uint32_t i = count; i > place; --i) chosen[i * kThreads] = chosen[(i - 1) * kThreads];
    chosen[place * kThreads] = drawn;
  }
  PORTER_DEVICE std::uint32_t word(const Stream& stream, std::uint32_t number) const {
    const auto words = philox_words_of(
        {number / 4, stream.round, same_for_all ? 0 : stream.drawer, use + stream.channel},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return number % 4 == 0   ? words[0]
           : number % 4 == 1 ? words[1]
           : number % 4 == 2 ? words[2]
                             : words[3];
  }
};

}  // namespace porter::cuda
