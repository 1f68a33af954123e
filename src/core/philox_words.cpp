// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "core/simd.hpp"
#include "philox.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "philox_words.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "philox_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace porter::HWY_NAMESPACE {

// Stores the blocks in the lanes; `order` of write_words puts them in sequence.
HWY_INLINE void store_blocks(WordVector w0, WordVector w1, WordVector w2, WordVector w3,
                             std::uint32_t* out) {
  const Words words;
  const Blocks blocks;
  const auto front = hn::BitCast(blocks, join_words(w0, w1));
  const auto back = hn::BitCast(blocks, join_words(w2, w3));
  hn::StoreU(hn::BitCast(words, hn::InterleaveLower(blocks, front, back)), words, out);
  hn::StoreU(hn::BitCast(words, hn::InterleaveUpper(blocks, front, back)), words,
             out + hn::Lanes(words));
}

// As many whole pairs of vectors as fit; returns how many words were written.
std::size_t write_words(const PhiloxStream& stream, std::uint32_t block, std::uint32_t* out,
                        std::size_t count) {
  const Blocks blocks;
  const std::size_t lanes = hn::Lanes(blocks);
  // Interleaving works in pieces of two lanes: with the first half of the blocks in even lanes and
  // the second half in odd ones, what it gives is in order.
  const auto iota = hn::Iota(blocks, 0);
  const auto odd = hn::TestBit(iota, hn::Set(blocks, 1));
  const auto order =
      hn::Add(hn::ShiftRight<1>(iota), hn::IfThenElseZero(odd, hn::Set(blocks, lanes / 2)));
  std::size_t done = 0;
  for (; count - done >= 8 * lanes; done += 8 * lanes) {
    WordVector a0, a1, a2, a3, b0, b1, b2, b3;
    const auto a = hn::Add(order, hn::Set(blocks, block + done / 4));
    philox(stream, a, hn::Add(a, hn::Set(blocks, lanes)), a0, a1, a2, a3, b0, b1, b2, b3);
    store_blocks(a0, a1, a2, a3, out + done);
    store_blocks(b0, b1, b2, b3, out + done + 4 * lanes);
  }
  return done;
}

}  // namespace porter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace porter {

HWY_EXPORT(write_words);

void philox_words(std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round,
                  std::uint32_t first_block, std::span<std::uint32_t> out) {
  const PhiloxStream stream(seed, use, agent, round);
  choose_simd();
  auto done = HWY_DYNAMIC_DISPATCH(write_words)(stream, first_block, out.data(), out.size());
  while (done < out.size()) {
    const auto words = stream.block(first_block + static_cast<std::uint32_t>(done / 4));
    const auto part = std::min(words.size(), out.size() - done);
    std::copy_n(words.begin(), part, out.begin() + static_cast<std::ptrdiff_t>(done));
    done += part;
  }
}

}  // namespace porter
#endif
