// SPDX-License-Identifier: Apache-2.0
//
// Rejection from steps. The integers x >= 0 are cut into cells of w = 2^k, with w <= s/64 (w = 1
// for s < 128). Draw
//   cell j    with probability proportional to rho(j w), where rho(x) = exp(-x^2 / (2 s^2)),
//   offset o  uniform on {0, ..., w - 1},  a sign,  U uniform on [0, 1),
// and take x = j w + o if U < rho(x) / rho(j w) = exp(-t), t = o (2 j w + o) / (2 s^2) < 0.21;
// minus zero is refused. Then P(x) is proportional to rho(x) on both sides.
//
// A trial takes one word (noise_trials.hpp): a slot of an alias table (Walker 1977) with 2048
// slots, the first bits of the share that decides between the slot's two cells, the first bits of U
// (the level), the whole offset and the sign. The fields do not overlap; share and level have 20
// bits each, fewer where the offset has more than 12, and never fewer than 7. Further bits are
// drawn only where the first ones leave the outcome open, so that it is always the outcome of
//   a share of 110 bits,  drawn to the end where the first bits tie;
//   a U of 112 bits,      where the level decides neither by U < 1 - t <= exp(-t), taken, nor by
//                         U >= 1 - t + t^2/2 >= exp(-t), refused: 64 more bits are compared in
//                         double, and where that is closer than its error allows all of them in
//                         quadruple precision.
// Some 99 % of the trials are taken by their word alone, many at a time. The others are finished
// here, each in its place; a refused one is drawn anew. So every value has the law, whatever the
// others needed.
//
// Distance from the ideal law, as total variation, for ideal words:
//   cells    probabilities are multiples of 2^-121 and sum to one exactly; the quadruple-precision
//            weights are good to 2^-102 and their sum to 1664 * 2^-113, so with the 1664 roundings
//            to 2^-121 the cells are off by a < 2^-101;
//   accept   U has 112 bits and exp(-t) is good to 2^-110, so it is off by b < 2^-109; what double
//            decides is 2^-45 or more away from exp(-t), beyond all roundings;
//   both     at least half of the trials are accepted, which turns them into 2 (2 a + b) < 2^-98;
//   tail     the mass beyond 13 s that is never drawn is at most 2 exp(-13^2 / 2) < 2^-120.
// statistical_distance() returns 2^-96.
#include "privacy/discrete_gaussian.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>

#include "noise_trials.hpp"
#include "porter/core/error.hpp"
#include "quad.hpp"

namespace porter {
namespace {

constexpr int kHighBits = 54, kLowBits = 56, kShareBits = kHighBits + kLowBits;
constexpr Uint128 kShare = Uint128{1} << kShareBits;  // one slot, in units of mass
constexpr int kUniformBits = 112;                     // of U
constexpr double kMargin = 0x1p-40;  // of a bound in double, far above its roundings

// t = o (2 j w + o) / (2 s^2). In quadruple precision the numerator and s^2 are exact.
template <class Real>
Real exponent(std::uint64_t start, std::uint64_t offset, double s) {
  const auto real_s = static_cast<Real>(s);
  return static_cast<Real>(offset) * static_cast<Real>(2 * start + offset) / (2 * real_s * real_s);
}

// The masses of the cells in units of 2^-121: nearest to rho(j w) / sum, the rest at cell 0.
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

DiscreteGaussian::DiscreteGaussian(double s) : s_(s), offset_bits_(0), levels_(0), slope_(0) {
  require(s >= kSmallest && s <= kLargest, ErrorKind::usage,
          "discrete Gaussian: the parameter must lie in [2^-4, 2^44], found ", s);
  offset_bits_ = std::max(0, std::ilogb(s) - 6);
  const double width = std::ldexp(1.0, offset_bits_);
  const auto cells = static_cast<std::size_t>(std::ceil(kCut * s / width));
  build_slots(cells);
  levels_ = std::ldexp(1.0, TrialWord(offset_bits_).level_bits());
  slope_ = levels_ / (2 * s * s);
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
  const int hidden = kHighBits - TrialWord(offset_bits_).share_bits();
  for (const auto& slot : slots_)
    short_slots_.push_back(static_cast<std::uint32_t>(slot.own_high >> hidden) << kSlotBits |
                           slot.other);
}

TrialTable DiscreteGaussian::table() const {
  return {TrialWord(offset_bits_), short_slots_.data(), slope_, levels_ - 2};
}

std::uint64_t DiscreteGaussian::choose_cell(std::uint64_t word, NoiseStream& noise) const {
  const TrialWord layout(offset_bits_);
  const std::uint64_t slot = TrialWord::slot(word), share = layout.share(word);
  const std::uint64_t first = short_slots_[slot] >> kSlotBits;
  if (share != first) return share < first ? slot : short_slots_[slot] % kSlots;
  const int hidden = kShareBits - layout.share_bits();
  const Uint128 high = noise.next_u64(), more = high << 64 | noise.next_u64();
  const Uint128 own = Uint128{slots_[slot].own_high} << kLowBits | slots_[slot].own_low;
  return (Uint128{share} << hidden | more >> (128 - hidden)) < own ? slot : slots_[slot].other;
}

// By  1 - t <= exp(-t) <= 1 - t + t^2 / 2,  in levels, where that decides. The first comparison is
// the one of draw_trials, bit by bit.
bool DiscreteGaussian::accept(std::uint64_t cell, std::uint64_t offset, std::uint64_t level,
                              NoiseStream& noise) const {
  const double start = static_cast<double>(cell << offset_bits_);
  const double o = static_cast<double>(offset), u = static_cast<double>(level);
  const double excess = o * slope_ * (start + (start + o));  // L t
  if (excess <= levels_ - 2 - u) return true;
  if (u + excess - excess * excess / (2 * levels_) >= levels_ + kMargin * levels_) return false;
  return accept_exactly(cell, offset, level, noise);
}

bool DiscreteGaussian::accept_exactly(std::uint64_t cell, std::uint64_t offset, std::uint64_t level,
                                      NoiseStream& noise) const {
  constexpr double kDoubleError = 0x1p-45;  // ten roundings of 2^-53 and the series
  const int level_bits = TrialWord(offset_bits_).level_bits();
  const int last_bits = kUniformBits - 64 - level_bits;
  const std::uint64_t more = noise.next_u64();
  const std::uint64_t start = cell << offset_bits_;
  const double u =
      std::ldexp(static_cast<double>(level) + static_cast<double>(more) * 0x1p-64, -level_bits);
  const double p = exp_minus_series(exponent<double>(start, offset, s_), 16);
  if (std::abs(u - p) > kDoubleError) return u < p;
  const Uint128 bits = Uint128{level} << (kUniformBits - level_bits) | Uint128{more} << last_bits |
                       noise.next_u64() >> (64 - last_bits);
  const Quad exact_u = static_cast<Quad>(bits) * static_cast<Quad>(0x1p-112);
  return exact_u < exp_minus_series(exponent<Quad>(start, offset, s_), 32);
}

// One trial; nothing if it is refused.
std::optional<std::int64_t> DiscreteGaussian::finish(std::uint64_t word, NoiseStream& noise) const {
  const TrialWord layout(offset_bits_);
  const std::uint64_t cell = choose_cell(word, noise), offset = layout.offset(word);
  if (!accept(cell, offset, layout.level(word), noise)) return std::nullopt;
  const auto size = static_cast<std::int64_t>((cell << offset_bits_) + offset);
  if (!TrialWord::negative(word)) return size;
  return size == 0 ? std::nullopt : std::optional(-size);
}

std::int64_t DiscreteGaussian::draw(NoiseStream& noise) const {
  while (true)
    if (const auto value = finish(noise.next_u64(), noise)) return *value;
}

// One word per value first, then whatever the open ones need, in order.
void DiscreteGaussian::fill_group(NoiseStream& noise, std::span<double> out) const {
  assert(out.size() % kTrialMultiple == 0 && out.size() <= kTrialGroup);
  std::array<std::uint64_t, kTrialGroup> words;
  std::array<std::uint64_t, kTrialGroup / 64> open;
  noise.fill(std::span(words).first(out.size()));
  draw_trials(table(), words.data(), out.size(), out.data(), open.data());
  for (std::size_t first = 0; first < out.size(); first += 64)
    for (std::uint64_t rest = open[first / 64]; rest != 0; rest &= rest - 1) {
      const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(rest));
      const auto value = finish(words[i], noise);
      out[i] = static_cast<double>(value ? *value : draw(noise));
    }
}

void DiscreteGaussian::fill(NoiseStream& noise, std::span<double> out) const {
  while (out.size() >= kTrialMultiple) {
    const std::size_t whole = out.size() - out.size() % kTrialMultiple;
    const std::size_t part = std::min(kTrialGroup, whole);
    fill_group(noise, out.first(part));
    out = out.subspan(part);
  }
  for (auto& value : out) value = static_cast<double>(draw(noise));
}

}  // namespace porter
