// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

#include "core/device.hpp"

namespace porter {

// The functions below use + - * / and sqrt only, which IEEE 754 rounds exactly, so their bits do
// not depend on the C library. Their series are plain Taylor series, cut where a term is below
// 2^-56.

// ln 2 in two parts; the first has 21 zero bits at its end, so that an exponent times it is exact.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

// log of a positive normal double; error below 2 units in the last place.
PORTER_DEVICE inline double exact_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > std::numbers::sqrt2) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);  // log m = 2 atanh s, |s| < 0.1716
  const double z = s * s;
  double series = 0;
  for (int k = 21; k >= 3; k -= 2) series = (series + 1.0 / k) * z;
  const auto e = static_cast<double>(exponent);
  return e * kLn2High + (2 * s + (2 * s * series + e * kLn2Low));
}

struct SinCos {
  double sin, cos;
};

// sin and cos of 2 pi u for u in (-1/8, 1): reduced to [-pi/4, pi/4] exactly, as u is near 0, or
// within a factor of 2 of the quarter turns that are taken off.
PORTER_DEVICE inline SinCos sincos_turn(double u) {
  const auto quarter = static_cast<int>(4 * u + 0.5);
  const double t = 2 * std::numbers::pi * (u - 0.25 * quarter);
  const double z = t * t;
  double s = 0, c = 0;
  for (int k = 16; k >= 2; k -= 2) s = -z * (1 + s) / (k * (k + 1));
  for (int k = 17; k >= 1; k -= 2) c = -z * (1 + c) / (k * (k + 1));
  s = t + t * s;
  c = 1 + c;
  switch (quarter & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace porter
