// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "philox.hpp"

namespace porter {

/// Two independent standard normals: r cos a and r sin a.
struct NormalPair {
  float cosine, sine;
};

/// A radius word below this leaves fewer than 20 random bits to its logarithm, and is refined.
inline constexpr std::uint32_t kRefineBelow = 1U << 20;

/// The pair of a radius word and an angle word, in float arithmetic.
NormalPair plain_pair(std::uint32_t radius_word, std::uint32_t angle_word);

/// The same with 64 more bits below those of the radius word, in double arithmetic.
NormalPair refined_pair(std::uint32_t radius_word, std::uint32_t angle_word, std::uint64_t bits);

/// Pair number `pair` of a stream, one at a time: what the vector code must give, bit for bit.
NormalPair normal_pair(const PhiloxStream& stream, std::uint64_t pair);

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
                               kSwapBit = 0x40000000;
/// -2 ln 2 for each unit of the exponent, which stands 23 bits to the left.
inline constexpr float kExponentToLog = -0x1.62e430p-23F;

}  // namespace porter
