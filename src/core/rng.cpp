// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rng.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace porter {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr std::uint32_t kRefinementBlock = 0x80000000;  // counters that only rare normals reach

// The functions below use + - * / and sqrt only, which IEEE 754 rounds exactly, so their bits do
// not depend on the C library. Their series are plain Taylor series, cut where a term is below
// 2^-56.

// log of a positive normal double; error below 2 units in the last place.
double exact_log(double x) {
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
  // ln 2 in two parts, so that exponent * high is exact.
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  const auto e = static_cast<double>(exponent);
  return e * kLn2High + (2 * s + (2 * s * series + e * kLn2Low));
}

struct SinCos {
  double sin, cos;
};

// sin and cos of 2 pi u for u in [0, 1): reduced to [-pi/4, pi/4] exactly, as u is a multiple of
// 2^-53.
SinCos sincos_turn(double u) {
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

double to_unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

}  // namespace

std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                          std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kMultiplier0) * counter[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(kMultiplier1) * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

RngStream::RngStream(std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, round, agent, static_cast<std::uint32_t>(use)} {}

void RngStream::refill() {
  block_ = philox_block(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

std::uint32_t RngStream::next_u32() {
  if (used_ == 4) refill();
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t RngStream::next_u64() {
  const std::uint32_t low = next_u32();
  return join(low, next_u32());
}

double RngStream::uniform() { return to_unit(next_u64()); }

std::uint64_t RngStream::below(std::uint64_t bound) {
  // Reject the first 2^64 mod bound words, so that every residue is equally likely. They are below
  // bound, so for most words the division is not needed.
  std::uint64_t word = next_u64();
  if (word < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (word < threshold) word = next_u64();
  }
  return word % bound;
}

// Box and Muller on one block: radius from 64 bits, angle from 53. The radius keeps all leading
// zeros of its word as exponent, and where fewer than 12 significant bits are left (probability
// 2^-52) 64 more are appended, so the tails follow the normal law to 13 standard deviations.
std::array<double, 2> RngStream::normal_pair() {
  const auto index = counter_[0];
  refill();
  used_ = 4;
  const std::uint64_t radius_word = join(block_[0], block_[1]);
  double u = (static_cast<double>(radius_word) + 0.5) * 0x1p-64;
  if (radius_word < (1U << 12)) {
    const auto more =
        philox_block({index | kRefinementBlock, counter_[1], counter_[2], counter_[3]}, key_);
    u = (static_cast<double>(radius_word) +
         (static_cast<double>(join(more[0], more[1])) + 0.5) * 0x1p-64) *
        0x1p-64;
  }
  const double radius = std::sqrt(-2 * exact_log(u));
  const auto [sin, cos] = sincos_turn(to_unit(join(block_[2], block_[3])));
  return {radius * cos, radius * sin};
}

double RngStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const auto [first, second] = normal_pair();
  spare_normal_ = second;
  has_spare_ = true;
  return first;
}

void RngStream::fill_normal(std::span<double> out) {
  has_spare_ = false;
  std::size_t i = 0;
  for (; i + 1 < out.size(); i += 2) {
    const auto [first, second] = normal_pair();
    out[i] = first;
    out[i + 1] = second;
  }
  if (i < out.size()) out[i] = normal_pair()[0];
}

}  // namespace porter
