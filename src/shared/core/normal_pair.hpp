// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device.hpp"
#include "core/exact_math.hpp"
#include "core/philox.hpp"

namespace porter {

/// Two independent standard normals: r cos a and r sin a.
struct NormalPair {
  float cosine, sine;
};

// The coefficients of both, nearly minimax, found by Lawson's iteration; errors are relative.
//   -4 atanh(s)    = s (-4 + k1 s^2 + k2 s^4 + k3 s^6)             |s| < 0.1716   8e-10
//   sin(pi t / 4)  = t (s0 + s1 t^2 + s2 t^4 + s3 t^6)             |t| <= 1       3e-9
//   cos(pi t / 4)  = 1 + c1 t^2 + c2 t^4 + c3 t^6                  |t| <= 1       4e-8
inline constexpr float kLog1 = -0x1.55557ap0F, kLog2 = -0x1.995ebap-1F, kLog3 = -0x1.31e2f2p-1F;
inline constexpr float kSin0 = 0x1.921fb6p-1F, kSin1 = -0x1.4abbbap-4F, kSin2 = 0x1.465e92p-9F,
                       kSin3 = -0x1.2d9302p-15F;
inline constexpr float kCos1 = -0x1.3bd39cp-2F, kCos2 = 0x1.03b090p-6F, kCos3 = -0x1.4e844ap-12F;
inline constexpr std::uint32_t kSqrtHalfBits = 0x3f3504f3, kOneBits = 0x3f800000;
inline constexpr std::uint32_t kExponentBits = 0xff800000, kSignBit = 0x80000000,
                               kSwapBit = kSignBit >> 1;
/// -2 ln 2 for each unit of the exponent, which stands 23 bits to the left.
inline constexpr float kExponentToLog = -0x1.62e430p-23F;

namespace detail {

// All bits set if the highest one is. Masks in place of conditions: compilers are slow to make
// vector code of those.
PORTER_DEVICE PORTER_INLINE inline std::uint32_t sign_mask(std::uint32_t bits) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31);
}

// -2 ln u for u = (word + 1/2) 2^-32. Read as a signed number, a word above one half is u - 1, so
// neither end loses bits: with t the signed number and b = 0 or 1, u = b + t = 2^e (1 + y).
PORTER_DEVICE PORTER_INLINE inline float minus_two_log(std::uint32_t word) {
  const float t = (static_cast<float>(static_cast<std::int32_t>(word)) + 0.5F) * 0x1p-32F;
  const std::uint32_t above_half = sign_mask(std::bit_cast<std::uint32_t>(t));
  const float u = std::bit_cast<float>(above_half & kOneBits) + t;
  // 1 + y in [sqrt(1/2), sqrt(2)).
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(u) - kSqrtHalfBits) & kExponentBits;
  const std::uint32_t scale_bits = kOneBits - exponent;  // of 2^-e
  const float y =
      std::bit_cast<float>(scale_bits) * t + (std::bit_cast<float>(above_half & scale_bits) - 1.0F);
  const float s = y / (y + 2.0F);  // ln(1 + y) = 2 atanh(s)
  const float z = s * s;
  const float log = s * (((kLog3 * z + kLog2) * z + kLog1) * z - 4.0F);
  return static_cast<float>(static_cast<std::int32_t>(exponent)) * kExponentToLog + log;
}

// The low 30 bits of the word are an angle in (-pi/4, pi/4), the two above turn and mirror it.
PORTER_DEVICE PORTER_INLINE inline std::int32_t centred_angle(std::uint32_t word) {
  return static_cast<std::int32_t>((word << 2) | 2);
}

}  // namespace detail

/// The pair of a radius word and an angle word, in float arithmetic. No branch, so that a loop over
/// pairs becomes vector code.
PORTER_DEVICE PORTER_INLINE inline NormalPair plain_pair(std::uint32_t radius_word,
                                                         std::uint32_t angle_word) {
  const float radius = std::sqrt(detail::minus_two_log(radius_word));
  const float t = static_cast<float>(detail::centred_angle(angle_word)) * 0x1p-31F;
  const float z = t * t;
  const float sine = t * (((kSin3 * z + kSin2) * z + kSin1) * z + kSin0);
  const float cosine = ((kCos3 * z + kCos2) * z + kCos1) * z + 1.0F;
  const auto sine_bits = std::bit_cast<std::uint32_t>(sine);
  const auto cosine_bits = std::bit_cast<std::uint32_t>(cosine) ^ (angle_word & kSignBit);
  const auto swapped = (sine_bits ^ cosine_bits) & detail::sign_mask(angle_word << 1);
  return {radius * std::bit_cast<float>(cosine_bits ^ swapped),
          radius * std::bit_cast<float>(sine_bits ^ swapped)};
}

/// A radius word below this leaves fewer than 20 random bits to its logarithm, and is refined.
inline constexpr std::uint32_t kRefineBelow = 1U << 20;

/// The same with 64 more bits below those of the radius word, in double arithmetic.
PORTER_DEVICE inline NormalPair refined_pair(std::uint32_t radius_word, std::uint32_t angle_word,
                                             std::uint64_t bits) {
  const double fraction = (static_cast<double>(bits) + 0.5) * 0x1p-64;
  const double radius = std::sqrt(-2 * exact_log((radius_word + fraction) * 0x1p-32));
  const auto [sine, cosine] = sincos_turn(detail::centred_angle(angle_word) * 0x1p-34);
  const double mirrored = (angle_word & kSignBit) != 0 ? -cosine : cosine;
  const bool swap = (angle_word & kSwapBit) != 0;
  return {static_cast<float>(radius * (swap ? sine : mirrored)),
          static_cast<float>(radius * (swap ? mirrored : sine))};
}

/// Pair number `pair` of a stream, one at a time.
NormalPair normal_pair(const PhiloxStream& stream, std::uint64_t pair);

}  // namespace porter
