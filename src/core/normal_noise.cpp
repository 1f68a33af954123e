// SPDX-License-Identifier: Apache-2.0
#include "porter/core/normal_noise.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "normal_pair.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/normal_noise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "philox_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace porter::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<std::int32_t>;

constexpr std::size_t kPairs = kNoiseAlignment / 2;  // in a group

// normal_pair, many at a time: the same operations in the same order, no fused multiply-adds.

// Also gives u, whose smallest value decides whether a group needs refinement.
HWY_INLINE hn::Vec<Floats> minus_two_log(hn::Vec<Words> word, hn::Vec<Floats>& u) {
  const Floats floats;
  const Ints ints;
  const auto one = hn::Set(floats, 1.0F);
  const auto number = hn::ConvertTo(floats, hn::BitCast(ints, word));
  const auto t = hn::Mul(hn::Add(number, hn::Set(floats, 0.5F)), hn::Set(floats, 0x1p-32F));
  const auto above_half = hn::Lt(t, hn::Zero(floats));
  u = hn::Add(hn::IfThenElseZero(above_half, one), t);
  const auto exponent =
      hn::And(hn::Sub(hn::BitCast(ints, u), hn::Set(ints, static_cast<int>(kSqrtHalfBits))),
              hn::Set(ints, static_cast<int>(kExponentBits)));
  const auto scale = hn::BitCast(floats, hn::Sub(hn::BitCast(ints, one), exponent));
  const auto y = hn::Add(hn::Mul(scale, t), hn::Sub(hn::IfThenElseZero(above_half, scale), one));
  const auto s = hn::Div(y, hn::Add(y, hn::Set(floats, 2.0F)));
  const auto z = hn::Mul(s, s);
  auto series = hn::Add(hn::Mul(hn::Set(floats, kLog3), z), hn::Set(floats, kLog2));
  series = hn::Add(hn::Mul(series, z), hn::Set(floats, kLog1));
  series = hn::Sub(hn::Mul(series, z), hn::Set(floats, 4.0F));
  return hn::Add(hn::Mul(hn::ConvertTo(floats, exponent), hn::Set(floats, kExponentToLog)),
                 hn::Mul(s, series));
}

HWY_INLINE void on_circle(hn::Vec<Words> word, hn::Vec<Floats> radius, hn::Vec<Floats>& first,
                          hn::Vec<Floats>& second) {
  const Floats floats;
  const Ints ints;
  const Words words;
  const auto angle = hn::BitCast(ints, hn::Or(hn::ShiftLeft<2>(word), hn::Set(words, 2)));
  const auto t = hn::Mul(hn::ConvertTo(floats, angle), hn::Set(floats, 0x1p-31F));
  const auto z = hn::Mul(t, t);
  auto sine = hn::Add(hn::Mul(hn::Set(floats, kSin3), z), hn::Set(floats, kSin2));
  sine = hn::Add(hn::Mul(sine, z), hn::Set(floats, kSin1));
  sine = hn::Mul(t, hn::Add(hn::Mul(sine, z), hn::Set(floats, kSin0)));
  auto cosine = hn::Add(hn::Mul(hn::Set(floats, kCos3), z), hn::Set(floats, kCos2));
  cosine = hn::Add(hn::Mul(cosine, z), hn::Set(floats, kCos1));
  cosine = hn::Add(hn::Mul(cosine, z), hn::Set(floats, 1.0F));
  const auto sign = hn::BitCast(floats, hn::And(word, hn::Set(words, kSignBit)));
  cosine = hn::Xor(cosine, sign);
  const auto swap = hn::RebindMask(floats, hn::TestBit(word, hn::Set(words, kSwapBit)));
  first = hn::Mul(radius, hn::IfThenElse(swap, sine, cosine));
  second = hn::Mul(radius, hn::IfThenElse(swap, cosine, sine));
}

// One group: the radii and angles of 16 blocks, cosines first.
HWY_INLINE void fill_group(const PhiloxStream& stream, std::uint64_t group, float* out) {
  const Floats floats;
  const Words words;
  const Blocks blocks;
  const std::size_t lanes = hn::Lanes(floats);
  HWY_ALIGN std::uint32_t radius_words[kPairs];
  auto smallest = hn::Set(floats, 1.0F);
  for (std::size_t pair = 0; pair < kPairs; pair += lanes) {
    const auto numbers = hn::Iota(blocks, (group * kPairs + pair) / 2);
    hn::Vec<Words> w0, w1, w2, w3;
    philox(stream, numbers, w0, w1, w2, w3);
    const auto radius_word = join_words(w0, w2);
    hn::Vec<Floats> u, first, second;
    const auto radius = hn::Sqrt(minus_two_log(radius_word, u));
    on_circle(join_words(w1, w3), radius, first, second);
    hn::StoreU(first, floats, out + pair);
    hn::StoreU(second, floats, out + kPairs + pair);
    hn::Store(radius_word, words, radius_words + pair);
    smallest = hn::Min(smallest, u);
  }
  if (hn::AllFalse(floats, hn::Lt(smallest, hn::Set(floats, kRefineBelow * 0x1p-32F)))) return;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    if (radius_words[pair] >= kRefineBelow) continue;
    const auto [cosine, sine] = refined_pair(stream, group * kPairs + pair);
    out[pair] = cosine;
    out[kPairs + pair] = sine;
  }
}

void fill_normals(const PhiloxStream& stream, std::uint64_t group, float* out, std::size_t count) {
  for (; count >= kNoiseAlignment; count -= kNoiseAlignment, out += kNoiseAlignment)
    fill_group(stream, group++, out);
  if (count == 0) return;
  float last[kNoiseAlignment];
  fill_group(stream, group, last);
  std::copy_n(last, count, out);
}

}  // namespace porter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace porter {

HWY_EXPORT(fill_normals);

void NormalNoise::fill(std::size_t first, std::span<float> out) const {
  assert(first % kNoiseAlignment == 0 && first + out.size() <= std::size_t{1} << 33);
  const PhiloxStream stream(seed_, use_, agent_, round_);
  HWY_DYNAMIC_DISPATCH(fill_normals)(stream, first / kNoiseAlignment, out.data(), out.size());
}

}  // namespace porter
#endif
