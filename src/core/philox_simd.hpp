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

// At most 512 bits, so that two vectors are never more than a group of normals.
using Words = hn::CappedTag<std::uint32_t, 16>;
using Blocks = hn::CappedTag<std::uint64_t, 8>;  // one block per 64-bit lane

using WordVector = hn::Vec<Words>;
using BlockVector = hn::Vec<Blocks>;

HWY_INLINE void philox_round(WordVector key0, WordVector key1, WordVector& w0, WordVector& w1,
                             WordVector& w2, WordVector& w3) {
  const Words words;
  const auto product0 = hn::MulEven(w0, hn::Set(words, kPhiloxMultiplier0));
  const auto product1 = hn::MulEven(w2, hn::Set(words, kPhiloxMultiplier1));
  w0 = hn::Xor3(hn::BitCast(words, hn::ShiftRight<32>(product1)), w1, key0);
  w1 = hn::BitCast(words, product1);
  w2 = hn::Xor3(hn::BitCast(words, hn::ShiftRight<32>(product0)), w3, key1);
  w3 = hn::BitCast(words, product0);
}

/// The four words of the blocks numbered `a` and `b`: word k of each in the low half of its lane,
/// with left-overs in the high half. Two vectors at a time, as one alone waits for its products.
HWY_INLINE void philox(const PhiloxStream& stream, BlockVector a, BlockVector b, WordVector& a0,
                       WordVector& a1, WordVector& a2, WordVector& a3, WordVector& b0,
                       WordVector& b1, WordVector& b2, WordVector& b3) {
  const Words words;
  a0 = hn::BitCast(words, a);
  b0 = hn::BitCast(words, b);
  a1 = b1 = hn::Set(words, stream.round);
  a2 = b2 = hn::Set(words, stream.agent);
  a3 = b3 = hn::Set(words, stream.use);
  for (std::size_t round = 0; round < kPhiloxRounds; ++round) {
    const auto key0 = hn::Set(words, stream.keys0[round]);
    const auto key1 = hn::Set(words, stream.keys1[round]);
    philox_round(key0, key1, a0, a1, a2, a3);
    philox_round(key0, key1, b0, b1, b2, b3);
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
