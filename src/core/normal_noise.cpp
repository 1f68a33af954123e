// SPDX-License-Identifier: Apache-2.0
#include "core/normal_noise.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/simd.hpp"
#include "normal_pair.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "normal_noise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "philox_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace porter::HWY_NAMESPACE {

using Floats = hn::Rebind<float, Words>;
using FloatVector = hn::Vec<Floats>;
using Ints = hn::Rebind<std::int32_t, Words>;

constexpr std::size_t kPairs = kNoiseAlignment / 2;  // in a group

// plain_pair, many at a time: the same operations in the same order. Multiplications and additions
// stay apart, as a fused one rounds once where the definition rounds twice.

HWY_INLINE FloatVector times_plus(FloatVector a, FloatVector b, float c) {
  return hn::Add(hn::Mul(a, b), hn::Set(Floats(), c));
}

HWY_INLINE FloatVector to_floats(WordVector words) {
  return hn::ConvertTo(Floats(), hn::BitCast(Ints(), words));
}

// Also gives u, whose smallest value decides whether a group needs refinement.
HWY_INLINE FloatVector minus_two_log(WordVector word, FloatVector& u) {
  const Floats floats;
  const Words words;
  const auto one = hn::Set(floats, 1.0F), half = hn::Set(floats, 0.5F);
  const auto t = hn::Mul(hn::Add(to_floats(word), half), hn::Set(floats, 0x1p-32F));
  const auto above_half = hn::Lt(t, hn::Zero(floats));
  u = hn::Add(hn::IfThenElseZero(above_half, one), t);
  const auto exponent = hn::And(hn::Sub(hn::BitCast(words, u), hn::Set(words, kSqrtHalfBits)),
                                hn::Set(words, kExponentBits));
  const auto scale = hn::BitCast(floats, hn::Sub(hn::Set(words, kOneBits), exponent));
  const auto y = hn::Add(hn::Mul(scale, t), hn::Sub(hn::IfThenElseZero(above_half, scale), one));
  const auto s = hn::Div(y, hn::Add(y, hn::Set(floats, 2.0F)));
  const auto z = hn::Mul(s, s);
  auto series = times_plus(hn::Set(floats, kLog3), z, kLog2);
  series = times_plus(series, z, kLog1);
  series = times_plus(series, z, -4.0F);
  return hn::Add(hn::Mul(to_floats(exponent), hn::Set(floats, kExponentToLog)), hn::Mul(s, series));
}

HWY_INLINE void on_circle(WordVector word, FloatVector radius, FloatVector& first,
                          FloatVector& second) {
  const Floats floats;
  const Words words;
  const auto angle = hn::Or(hn::ShiftLeft<2>(word), hn::Set(words, 2));
  const auto t = hn::Mul(to_floats(angle), hn::Set(floats, 0x1p-31F));
  const auto z = hn::Mul(t, t);
  auto sine = times_plus(hn::Set(floats, kSin3), z, kSin2);
  sine = times_plus(sine, z, kSin1);
  sine = hn::Mul(t, times_plus(sine, z, kSin0));
  auto cosine = times_plus(hn::Set(floats, kCos3), z, kCos2);
  cosine = times_plus(cosine, z, kCos1);
  cosine = times_plus(cosine, z, 1.0F);
  cosine = hn::Xor(cosine, hn::BitCast(floats, hn::And(word, hn::Set(words, kSignBit))));
  const auto swap = hn::RebindMask(floats, hn::TestBit(word, hn::Set(words, kSwapBit)));
  first = hn::Mul(radius, hn::IfThenElse(swap, sine, cosine));
  second = hn::Mul(radius, hn::IfThenElse(swap, cosine, sine));
}

// Replaces what comes from small radius words.
HWY_NOINLINE void refine_group(const PhiloxStream& stream, std::uint64_t first_pair,
                               const std::uint32_t* radius_words, float* out) {
  for (std::size_t i = 0; i < kPairs; ++i) {
    if (radius_words[i] >= kRefineBelow) continue;
    const auto [cosine, sine] = normal_pair(stream, first_pair + i);
    out[i] = cosine;
    out[kPairs + i] = sine;
  }
}

// The pairs of radius and angle words in the lanes.
HWY_INLINE void fill_pairs(WordVector radius_word, WordVector angle_word, FloatVector& u,
                           float* cosines, float* sines) {
  const Floats floats;
  FloatVector first, second;
  const auto radius = hn::Sqrt(minus_two_log(radius_word, u));
  on_circle(angle_word, radius, first, second);
  hn::StoreU(first, floats, cosines);
  hn::StoreU(second, floats, sines);
}

// One group: the pairs of 16 blocks, cosines before sines.
HWY_INLINE void fill_group(const PhiloxStream& stream, BlockVector iota, std::uint64_t first_pair,
                           float* out) {
  const Floats floats;
  const Words words;
  const Blocks blocks;
  const std::size_t lanes = hn::Lanes(floats);
  HWY_ALIGN std::uint32_t radius_words[kPairs];
  auto smallest = hn::Set(floats, 1.0F);
  for (std::size_t i = 0; i < kPairs; i += 2 * lanes) {
    WordVector a0, a1, a2, a3, b0, b1, b2, b3;
    const auto a = hn::Add(iota, hn::Set(blocks, (first_pair + i) / 2));
    const auto b = hn::Add(iota, hn::Set(blocks, (first_pair + i + lanes) / 2));
    philox(stream, a, b, a0, a1, a2, a3, b0, b1, b2, b3);
    const auto radius_a = join_words(a0, a2), radius_b = join_words(b0, b2);
    FloatVector u_a, u_b;
    fill_pairs(radius_a, join_words(a1, a3), u_a, out + i, out + kPairs + i);
    fill_pairs(radius_b, join_words(b1, b3), u_b, out + i + lanes, out + kPairs + i + lanes);
    hn::Store(radius_a, words, radius_words + i);
    hn::Store(radius_b, words, radius_words + i + lanes);
    smallest = hn::Min(smallest, hn::Min(u_a, u_b));
  }
  const auto rare = hn::Lt(smallest, hn::Set(floats, kRefineBelow * 0x1p-32F));
  if (!hn::AllFalse(floats, rare)) refine_group(stream, first_pair, radius_words, out);
}

void fill_normals(const PhiloxStream& stream, std::uint64_t group, float* out, std::size_t count) {
  const auto iota = hn::Iota(Blocks(), 0);
  float last[kNoiseAlignment];
  while (count > 0) {
    const auto part = std::min(count, kNoiseAlignment);
    fill_group(stream, iota, group++ * kPairs, part == kNoiseAlignment ? out : last);
    if (part < kNoiseAlignment) std::copy_n(last, part, out);
    out += part;
    count -= part;
  }
}

}  // namespace porter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace porter {

HWY_EXPORT(fill_normals);

void NormalNoise::fill(std::size_t first, std::span<float> out) const {
  assert(first % kNoiseAlignment == 0 && first + out.size() <= std::size_t{1} << 33);
  const PhiloxStream stream(seed_, use_, agent_, round_);
  choose_simd();
  HWY_DYNAMIC_DISPATCH(fill_normals)(stream, first / kNoiseAlignment, out.data(), out.size());
}

}  // namespace porter
#endif
