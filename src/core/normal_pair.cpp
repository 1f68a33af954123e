// SPDX-License-Identifier: Apache-2.0
#include "normal_pair.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "exact_math.hpp"

namespace porter {
namespace {

// -2 ln u for u = (word + 1/2) 2^-32. Read as a signed number, a word above one half is u - 1, so
// neither end loses bits: with t the signed number and b = 0 or 1, u = b + t = 2^e (1 + y).
float minus_two_log(std::uint32_t word) {
  const float t = (static_cast<float>(static_cast<std::int32_t>(word)) + 0.5F) * 0x1p-32F;
  const bool above_half = t < 0;
  const float u = (above_half ? 1.0F : 0.0F) + t;
  // 1 + y in [sqrt(1/2), sqrt(2)).
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(u) - kSqrtHalfBits) & kExponentBits;
  const float scale = std::bit_cast<float>(kOneBits - exponent);  // 2^-e
  const float y = scale * t + ((above_half ? scale : 0.0F) - 1.0F);
  const float s = y / (y + 2.0F);  // ln(1 + y) = 2 atanh(s)
  const float z = s * s;
  const float log = s * (((kLog3 * z + kLog2) * z + kLog1) * z - 4.0F);
  return static_cast<float>(static_cast<std::int32_t>(exponent)) * kExponentToLog + log;
}

// The low 30 bits of the word are an angle in (-pi/4, pi/4), the two above turn and mirror it.
template <class Number>
NormalPair on_circle(std::uint32_t word, Number radius, Number sine, Number cosine) {
  if ((word & kSignBit) != 0) cosine = -cosine;
  if ((word & kSwapBit) != 0) std::swap(sine, cosine);
  return {static_cast<float>(radius * cosine), static_cast<float>(radius * sine)};
}

std::int32_t centred_angle(std::uint32_t word) {
  return static_cast<std::int32_t>((word << 2) | 2);
}

}  // namespace

NormalPair plain_pair(std::uint32_t radius_word, std::uint32_t angle_word) {
  const float radius = std::sqrt(minus_two_log(radius_word));
  const float t = static_cast<float>(centred_angle(angle_word)) * 0x1p-31F;
  const float z = t * t;
  const float sine = t * (((kSin3 * z + kSin2) * z + kSin1) * z + kSin0);
  const float cosine = ((kCos3 * z + kCos2) * z + kCos1) * z + 1.0F;
  return on_circle(angle_word, radius, sine, cosine);
}

NormalPair refined_pair(std::uint32_t radius_word, std::uint32_t angle_word, std::uint64_t bits) {
  const double fraction = (static_cast<double>(bits) + 0.5) * 0x1p-64;
  const double radius = std::sqrt(-2 * exact_log((radius_word + fraction) * 0x1p-32));
  const auto [sine, cosine] = sincos_turn(centred_angle(angle_word) * 0x1p-34);
  return on_circle(angle_word, radius, sine, cosine);
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
