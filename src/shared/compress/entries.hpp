// SPDX-License-Identifier: Apache-2.0
// What compressors do to one entry, for every engine. A uniform on [0, 1) is two words of a stream,
// the lower one first.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device.hpp"

namespace porter {

/// bernoulli: whether the uniform is below p = limit 2^-53.
PORTER_DEVICE PORTER_INLINE inline bool is_kept(std::uint32_t low, std::uint32_t high,
                                                std::int64_t limit) {
  const auto u = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<std::int64_t>(u) < limit;
}

/// qsgd and gsgd: sign * (top + 1) + level of x. norm > 0.
PORTER_DEVICE PORTER_INLINE inline std::uint32_t level_code(float x, double norm, std::int32_t top,
                                                            std::uint32_t low, std::uint32_t high) {
  // Both parts of the uniform and their sum are exact.
  const double u = static_cast<double>(high) * 0x1p-32 + static_cast<double>(low >> 11) * 0x1p-53;
  const double ratio = top * std::abs(double{x}) / norm;
  // u close to 1 may round the sum up to s + 1.
  const auto reached = static_cast<std::int32_t>(ratio + u);
  const std::int32_t level = reached < top ? reached : top;
  return static_cast<std::uint32_t>(level + (x < 0 && level > 0 ? top + 1 : 0));
}
/// What a code stands for.
PORTER_DEVICE PORTER_INLINE inline float level_value(std::uint32_t coded, double norm,
                                                     std::int32_t top, double divisor) {
  const auto code = static_cast<std::int32_t>(coded);
  const auto magnitude = static_cast<float>(norm * (code & top) / (top * divisor));
  return code > top ? -magnitude : magnitude;
}

/// min(d / s^2, sqrt(d) / s)
inline double level_omega(double s, double d) { return std::min(d / (s * s), std::sqrt(d) / s); }

inline constexpr unsigned kNaturalBits = 9, kMantissaBits = 23;
/// natural: sign and exponent field of x, rounded to a power of two; 0 for zero. (w >> 11) 2^-53 <
/// m 2^-23 for the 64 bits w of a uniform says no more than (w >> 41) < m, and the upper word alone
/// decides that.
PORTER_DEVICE PORTER_INLINE inline std::uint32_t natural_code(float x, std::uint32_t high) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t up = (high >> 9) < (bits & 0x7FFFFF) ? 1 : 0;
  const auto code = (bits >> kMantissaBits) + up;
  return (bits & 0x7F800000) != 0 ? code : 0;
}
PORTER_DEVICE PORTER_INLINE inline float natural_value(std::uint32_t code) {
  return std::bit_cast<float>(code << kMantissaBits);
}

/// The bits of |value|, which grow with it.
PORTER_DEVICE PORTER_INLINE inline std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF;
}
inline constexpr std::uint32_t kInfinityBits = 0x7F800000;
/// The largest magnitude that natural takes: 2^127.
inline constexpr std::uint32_t kNaturalTop = 254U << kMantissaBits;

}  // namespace porter
