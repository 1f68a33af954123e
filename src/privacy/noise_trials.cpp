// SPDX-License-Identifier: Apache-2.0
#include "noise_trials.hpp"

#include "core/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "noise_trials.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace porter::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint64_t, kTrialMultiple>;
using Doubles = hn::Rebind<double, Words>;
using Ints = hn::Rebind<std::int64_t, Words>;
using Entries = hn::Rebind<std::uint32_t, Words>;
using WordVector = hn::Vec<Words>;
using DoubleVector = hn::Vec<Doubles>;

// Integers below 2^52: put into the mantissa of 2^52, which is then taken off.
HWY_INLINE DoubleVector to_doubles(WordVector integers) {
  const auto base = hn::Set(Doubles(), 0x1p52);
  return hn::Sub(hn::BitCast(Doubles(), hn::Or(integers, hn::BitCast(Words(), base))), base);
}

HWY_INLINE WordVector field(WordVector word, int at, int bits) {
  return hn::And(hn::ShiftRightSame(word, at), hn::Set(Words(), (std::uint64_t{1} << bits) - 1));
}

// At most 64 trials; returns the open ones.
HWY_INLINE std::uint64_t draw_part(const TrialTable& table, const std::uint64_t* HWY_RESTRICT words,
                                   const std::uint32_t* HWY_RESTRICT entries, std::size_t count,
                                   double* HWY_RESTRICT out) {
  const Words u64;
  const Ints i64;
  const Doubles f64;
  const TrialWord layout = table.word;
  const auto width = hn::Set(f64, static_cast<double>(std::uint64_t{1} << layout.offset_bits()));
  const auto slope = hn::Set(f64, table.slope);
  const auto base = hn::Set(f64, 0x1p52), raised_limit = hn::Set(f64, 0x1p52 + table.limit);
  const auto minus_zero = hn::BitCast(u64, hn::Set(f64, -0.0));
  const auto slot_bits = hn::Set(u64, kSlots - 1);
  const auto low_bits = hn::Set(u64, (std::uint64_t{1} << layout.level_at()) - 1);
  std::uint64_t open = 0;
  for (std::size_t i = 0; i < count; i += hn::Lanes(u64)) {
    const auto word = hn::LoadU(u64, words + i);
    const auto entry = hn::PromoteTo(u64, hn::LoadU(Entries(), entries + i));
    const auto low = hn::And(word, low_bits);
    const auto own = hn::Lt(hn::BitCast(i64, low), hn::BitCast(i64, entry));
    const auto tied = hn::Eq(hn::AndNot(slot_bits, hn::Xor(low, entry)), hn::Zero(u64));
    const auto cell = hn::And(hn::IfThenElse(hn::RebindMask(u64, own), word, entry), slot_bits);
    const auto start = hn::Mul(to_doubles(cell), width);
    const auto offset = to_doubles(field(word, layout.offset_at(), layout.offset_bits()));
    const auto level = field(word, layout.level_at(), layout.level_bits());
    const auto size = hn::Add(start, offset);
    const auto excess = hn::Mul(hn::Mul(offset, slope), hn::Add(start, size));
    const auto value = hn::Or(hn::BitCast(u64, size), hn::And(word, minus_zero));
    hn::StoreU(hn::BitCast(f64, value), f64, out + i);
    const auto raised_level = hn::BitCast(f64, hn::Or(level, hn::BitCast(u64, base)));
    const auto room = hn::Sub(raised_limit, raised_level);  // limit - level, exactly
    const auto unsure = hn::RebindMask(u64, hn::Gt(excess, room));
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(u64, hn::Or(hn::Or(unsure, tied), hn::Eq(value, minus_zero)), bits);
    open |= std::uint64_t{bits[0]} << i;
  }
  return open;
}

void draw_trials(const TrialTable& table, const std::uint64_t* words, const std::uint32_t* entries,
                 std::size_t count, double* out, std::uint64_t* open) {
  for (std::size_t i = 0; i < count; i += 64)
    open[i / 64] =
        draw_part(table, words + i, entries + i, std::min<std::size_t>(64, count - i), out + i);
}

}  // namespace porter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace porter {

HWY_EXPORT(draw_trials);

void draw_trials(const TrialTable& table, const std::uint64_t* words, std::size_t count,
                 double* out, std::uint64_t* open) {
  std::uint32_t entries[kTrialGroup];
  for (std::size_t i = 0; i < count; i += kTrialMultiple)
    for (std::size_t k = i; k < i + kTrialMultiple; ++k)
      entries[k] = table.slots[words[k] % kSlots];
  choose_simd();
  HWY_DYNAMIC_DISPATCH(draw_trials)(table, words, entries, count, out, open);
}

}  // namespace porter
#endif
