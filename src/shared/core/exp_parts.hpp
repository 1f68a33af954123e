// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/device.hpp"
#include "core/exact_math.hpp"

namespace porter {

/// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2. Gives 2^n and exp(r) - 1, by Taylor's
/// series: to r^13, which is off by less than 4e-18, for double; to r^7, off by less than 6e-9, for
/// float. Beyond its reach x stays there; NaN stays NaN. `Vector` is Number or a register of it,
/// `Bits` unsigned integers of the same size and number.
template <class Number, class Bits, class Vector>
PORTER_DEVICE PORTER_INLINE inline void exp_parts(const Vector& argument, Vector& power,
                                                  Vector& sum) {
  constexpr bool kWide = sizeof(Number) == sizeof(double);
  // Added to a small number, it leaves the number rounded to an integer in the low bits.
  constexpr Number kRound = kWide ? Number(0x1.8p52) : Number(0x1.8p23);
  constexpr Number kReach = kWide ? 708 : 87;
  constexpr Number kLog2E = kWide ? Number(0x1.71547652b82fep0) : Number(0x1.715476p0);
  // ln 2; the high part in float has 16 bits.
  constexpr Number kHigh = kWide ? Number(kLn2High) : Number(0x1.62e4p-1);
  constexpr Number kLow = kWide ? Number(kLn2Low) : Number(0x1.7f7d1cp-20);
  constexpr int kMantissa = kWide ? 52 : 23, kBias = kWide ? 1023 : 127;
  using Word = std::conditional_t<kWide, std::uint64_t, std::uint32_t>;

  Vector x = argument < -kReach ? Vector{} - kReach : argument;
  x = x > kReach ? Vector{} + kReach : x;
  const Vector shifted = x * kLog2E + kRound;
  const Vector n = shifted - kRound;
  const Vector r = (x - n * kHigh) - n * kLow;
  if constexpr (kWide) {
    sum = r * (1.0 / 6227020800) + 1.0 / 479001600;
    const double inverse_factorials[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                         1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
                                         1.0 / 6,        1.0 / 2};
    for (const double inverse : inverse_factorials) sum = sum * r + inverse;
  } else {
    sum = r * (1.0F / 5040) + 1.0F / 720;
    const float inverse_factorials[] = {1.0F / 120, 1.0F / 24, 1.0F / 6, 1.0F / 2};
    for (const float inverse : inverse_factorials) sum = sum * r + inverse;
  }
  sum = (sum * r) * r + r;
  Bits bits;  // of a NaN any: unsigned, so that the sum may wrap
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << kMantissa) + (Word{kBias} << kMantissa);
  memcpy(&power, &bits, sizeof power);
}

/// One number at a time, with the bits of exp_in_place and tanh_in_place.
template <class Number>
PORTER_DEVICE inline Number exp_of(Number x) {
  using Bits = std::conditional_t<sizeof(Number) == sizeof(double), std::uint64_t, std::uint32_t>;
  Number power, sum;
  exp_parts<Number, Bits>(x, power, sum);
  return power + power * sum;
}
template <class Number>
PORTER_DEVICE inline Number tanh_of(Number x) {
  using Bits = std::conditional_t<sizeof(Number) == sizeof(double), std::uint64_t, std::uint32_t>;
  Number power, sum;
  exp_parts<Number, Bits>(x + x, power, sum);
  const Number less_one = (power - 1) + power * sum;
  return less_one / (less_one + 2);
}

}  // namespace porter
