// SPDX-License-Identifier: Apache-2.0
//
// Rejection from steps. The integers x >= 0 are cut into cells of w = 2^k, with w <= s/32 (w = 1
// for s < 64). Draw
//   cell j    with probability proportional to rho(j w), where rho(x) = exp(-x^2 / (2 s^2)),
//   offset o  uniform on {0, ..., w - 1},  a sign,  U uniform on [0, 1),
// and take x = j w + o if U < rho(x) / rho(j w) = exp(-t), t = o (2 j w + o) / (2 s^2) < 0.42;
// minus zero is refused. Then P(x) is proportional to rho(x) on both sides.
//
// A trial takes two words. The first chooses the cell from an alias table (Walker 1977) of 1024
// slots whose shares have 110 bits: 54 come from the word, 56 more are drawn when those tie. The
// second has the sign, 24 bits of U and the offset. Where these bits of U lie below the smallest
// exp(-t) of the cell (97 % of the trials) nothing is computed. Else 64 more bits of U are drawn
// and compared in double, and where that is closer than its error allows, 24 more in quadruple
// precision.
//
// Distance from the ideal law, as total variation, for ideal words:
//   cells    probabilities are multiples of 2^-120 and sum to one exactly; the quadruple-precision
//            weights are good to 2^-102 and their sum to 832 * 2^-113, so with the 832 roundings to
//            2^-120 the cells are off by a < 2^-101;
//   accept   U has 112 bits and exp(-t) is good to 2^-110, so it is off by b < 2^-109;
//   both     at least half of the trials are accepted, which turns them into 2 (2 a + b) < 2^-98;
//   tail     the mass beyond 13 s that is never drawn is at most 2 exp(-13^2 / 2) < 2^-120.
// statistical_distance() returns 2^-96.
#include "porter/privacy/discrete_gaussian.hpp"

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"
#include "quad.hpp"

namespace porter {
namespace {

constexpr int kSlotBits = 10, kHighBits = 64 - kSlotBits, kLowBits = 56;
constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;
constexpr Uint128 kShare = Uint128{1} << (kHighBits + kLowBits);  // one slot, in units of mass
constexpr int kLevelBits = 24;
constexpr std::uint64_t kLevels = std::uint64_t{1} << kLevelBits;

// Where the sign, the level and the offset lie in the second word.
constexpr std::uint64_t sign_of(std::uint64_t word) { return word & 1; }
constexpr std::uint64_t level_of(std::uint64_t word) { return (word >> 1) & (kLevels - 1); }
constexpr std::uint64_t offset_of(std::uint64_t word, int bits) {
  return (word >> (kLevelBits + 1)) & ((std::uint64_t{1} << bits) - 1);
}

// t = o (2 j w + o) / (2 s^2). In quadruple precision the numerator and s^2 are exact.
template <class Real>
Real exponent(std::uint64_t start, std::uint64_t offset, double s) {
  const auto real_s = static_cast<Real>(s);
  return static_cast<Real>(offset) * static_cast<Real>(2 * start + offset) / (2 * real_s * real_s);
}

// The masses of the cells in units of 2^-120: nearest to rho(j w) / sum, the rest at cell 0.
std::vector<Uint128> cell_masses(std::size_t cells, int offset_bits, double s) {
  std::vector<Quad> weights(cells);
  Quad sum = 0;
  for (std::size_t j = cells; j-- > 0;) {
    weights[j] = exp_minus(exponent<Quad>(0, std::uint64_t{j} << offset_bits, s));
    sum += weights[j];
  }
  const Quad whole = static_cast<Quad>(kShare) * static_cast<Quad>(kSlots);
  Uint128 left = kShare * kSlots;
  std::vector<Uint128> masses(kSlots, 0);
  for (std::size_t j = 0; j < cells; ++j) {
    masses[j] = static_cast<Uint128>(weights[j] / sum * whole + static_cast<Quad>(0.5));
    left -= masses[j];
  }
  masses[0] += left;  // modulo 2^128, as `left` may be negative
  return masses;
}

}  // namespace

DiscreteGaussian::DiscreteGaussian(double s) : s_(s), offset_bits_(0) {
  require(s >= kSmallest && s <= kLargest, ErrorKind::usage,
          "discrete Gaussian: the parameter must lie in [2^-4, 2^44], found ", s);
  offset_bits_ = std::max(0, std::ilogb(s) - 5);
  const double width = std::ldexp(1.0, offset_bits_);
  const auto cells = static_cast<std::size_t>(std::ceil(kCut * s / width));
  build_slots(cells);
  squeeze_.resize(cells);
  for (std::uint64_t j = 0; j < cells; ++j) {
    const auto last = (std::uint64_t{1} << offset_bits_) - 1;
    const auto lowest = exp_minus_series(exponent<Quad>(j << offset_bits_, last, s), 32) *
                        static_cast<Quad>(kLevels);
    squeeze_[j] = static_cast<std::uint32_t>(lowest) - (last == 0 ? 0 : 1);
  }
}

// Vose's construction: each slot is filled by its own cell and at most one other, in whole units.
void DiscreteGaussian::build_slots(std::size_t cells) {
  auto masses = cell_masses(cells, offset_bits_, s_);
  slots_.resize(kSlots);
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t j = 0; j < kSlots; ++j) (masses[j] < kShare ? small : large).push_back(j);
  const auto set = [&](std::uint32_t slot, Uint128 own, std::uint32_t other) {
    slots_[slot] = {static_cast<std::uint64_t>(own >> kLowBits),
                    static_cast<std::uint64_t>(own) & ((std::uint64_t{1} << kLowBits) - 1), other};
  };
  while (!small.empty()) {  // the masses average to kShare, so a large one is there
    const auto poor = small.back(), rich = large.back();
    small.pop_back();
    set(poor, masses[poor], rich);
    masses[rich] -= kShare - masses[poor];
    if (masses[rich] < kShare) {
      large.pop_back();
      small.push_back(rich);
    }
  }
  for (const auto full : large) set(full, kShare, full);
}

bool DiscreteGaussian::accept_exactly(std::uint64_t cell, std::uint64_t offset, std::uint64_t level,
                                      NoiseStream& noise) const {
  constexpr double kDoubleError = 0x1p-45;  // ten roundings of 2^-53 and the series
  const std::uint64_t more = noise.next_u64();
  const std::uint64_t start = cell << offset_bits_;
  const double u = (static_cast<double>(level) + static_cast<double>(more) * 0x1p-64) /
                   static_cast<double>(kLevels);
  const double p = exp_minus_series(exponent<double>(start, offset, s_), 16);
  if (std::abs(u - p) > kDoubleError) return u < p;
  const std::uint64_t last = noise.next_u64() >> (64 - kLevelBits);
  const Quad exact_u =
      (static_cast<Quad>(level) * static_cast<Quad>(0x1p88) +
       static_cast<Quad>(more) * static_cast<Quad>(0x1p24) + static_cast<Quad>(last)) *
      static_cast<Quad>(0x1p-112);
  return exact_u < exp_minus_series(exponent<Quad>(start, offset, s_), 32);
}

std::int64_t DiscreteGaussian::draw(NoiseStream& noise) const {
  while (true) {
    const std::uint64_t first = noise.next_u64(), second = noise.next_u64();
    const std::uint64_t slot = first % kSlots, share = first >> kSlotBits;
    const Slot& entry = slots_[slot];
    std::uint64_t cell = share < entry.own_high ? slot : entry.other;
    if (share == entry.own_high) [[unlikely]]
      cell = noise.next_u64() >> (64 - kLowBits) < entry.own_low ? slot : entry.other;
    const std::uint64_t offset = offset_of(second, offset_bits_), level = level_of(second);
    if (level >= squeeze_[cell] && !accept_exactly(cell, offset, level, noise)) continue;
    const auto size = static_cast<std::int64_t>((cell << offset_bits_) + offset);
    const auto sign = static_cast<std::int64_t>(sign_of(second));
    if (size == 0 && sign == 1) continue;
    return (size ^ -sign) + sign;
  }
}

void DiscreteGaussian::fill(NoiseStream& noise, std::span<std::int64_t> out) const {
  for (auto& value : out) value = draw(noise);
}

}  // namespace porter
