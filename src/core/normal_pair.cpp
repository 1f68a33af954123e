// SPDX-License-Identifier: Apache-2.0
#include "normal_pair.hpp"

#include <cmath>

#include "core/exact_math.hpp"

namespace porter {

NormalPair refined_pair(std::uint32_t radius_word, std::uint32_t angle_word, std::uint64_t bits) {
  const double fraction = (static_cast<double>(bits) + 0.5) * 0x1p-64;
  const double radius = std::sqrt(-2 * exact_log((radius_word + fraction) * 0x1p-32));
  const auto [sine, cosine] = sincos_turn(detail::centred_angle(angle_word) * 0x1p-34);
  const double mirrored = (angle_word & kSignBit) != 0 ? -cosine : cosine;
  const bool swap = (angle_word & kSwapBit) != 0;
  return {static_cast<float>(radius * (swap ? sine : mirrored)),
          static_cast<float>(radius * (swap ? mirrored : sine))};
}

NormalPair normal_pair(const PhiloxStream& stream, std::uint64_t pair) {
  const auto block = static_cast<std::uint32_t>(pair / 2);
  const std::size_t at = 2 * (pair % 2);
  const auto words = stream.block(block);
  if (words[at] >= kRefineBelow) return plain_pair(words[at], words[at + 1]);
  const auto more = stream.block(block | kRefinementBlock);
  return refined_pair(words[at], words[at + 1], join_words(more[at], more[at + 1]));
}

}  // namespace porter
