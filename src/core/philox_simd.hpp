// SPDX-License-Identifier: Apache-2.0
// Philox in vectors, for kernels that are compiled once per instruction set. The guard is flipped
// by Highway's foreach_target, so that every set gets its own copy.
#if defined(PORTER_PHILOX_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTER_PHILOX_SIMD
#undef PORTER_PHILOX_SIMD
#else
#define PORTER_PHILOX_SIMD
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace porter::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using Blocks = hn::ScalableTag<std::uint64_t>;  // one block per 64-bit lane

/// The four words of the blocks with these numbers: word k of each in the low half of its lane; the
/// high halves are left-overs.
HWY_INLINE void philox(const PhiloxStream& stream, hn::Vec<Blocks> numbers, hn::Vec<Words>& w0,
                       hn::Vec<Words>& w1, hn::Vec<Words>& w2, hn::Vec<Words>& w3) {
  const Words words;
  const auto multiplier0 = hn::Set(words, kPhiloxMultiplier0);
  const auto multiplier1 = hn::Set(words, kPhiloxMultiplier1);
  auto key0 = stream.key[0], key1 = stream.key[1];
  w0 = hn::BitCast(words, numbers);
  w1 = hn::Set(words, stream.round);
  w2 = hn::Set(words, stream.agent);
  w3 = hn::Set(words, stream.use);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const auto product0 = hn::MulEven(w0, multiplier0), product1 = hn::MulEven(w2, multiplier1);
    const auto high0 = hn::BitCast(words, hn::ShiftRight<32>(product0));
    const auto high1 = hn::BitCast(words, hn::ShiftRight<32>(product1));
    w0 = hn::Xor3(high1, w1, hn::Set(words, key0));
    w1 = hn::BitCast(words, product1);
    w2 = hn::Xor3(high0, w3, hn::Set(words, key1));
    w3 = hn::BitCast(words, product0);
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
}

/// Lane by lane, the low half of `even` below the low half of `odd`.
HWY_INLINE hn::Vec<Words> join_words(hn::Vec<Words> even, hn::Vec<Words> odd) {
  const Words words;
  const Blocks blocks;
  const auto high = hn::BitCast(words, hn::ShiftLeft<32>(hn::BitCast(blocks, odd)));
  return hn::OddEven(high, even);
}

}  // namespace porter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
