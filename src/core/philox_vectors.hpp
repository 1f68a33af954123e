// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/philox.hpp"
#include "core/vectors.hpp"

namespace porter {

/// One block per 64-bit lane, in the low half; the high half holds left-overs.
template <Width width>
using Blocks = Register<std::uint64_t, width>;

/// The lane's number in each lane.
template <Width width>
PORTER_INLINE inline void count_lanes(Blocks<width>& lanes) {
  for (std::size_t i = 0; i < width; ++i) lanes[i] = i;
}

/// product = low half of a times b.
template <Width width>
PORTER_INLINE inline void multiply_words(Blocks<width>& product, const Blocks<width>& a,
                                         std::uint64_t b) {
  const Blocks<width> factor = Blocks<width>{} + b;
#if defined(__x86_64__) && !defined(__clang__)
  // GCC does not see that the high halves are zero, and multiplies them too; clang does.
  if constexpr (!width.made_up && width >= 4) {
    asm("vpmuludq %2, %1, %0" : "=v"(product) : "v"(a), "v"(factor));
    return;
  } else if constexpr (width == 2) {
    product = a;
    asm("pmuludq %1, %0" : "+x"(product) : "x"(factor));
    return;
  }
#endif
  product = (a & 0xFFFFFFFF) * factor;
}

template <Width width>
PORTER_INLINE inline void philox_round(std::uint64_t key0, std::uint64_t key1,
                                       Blocks<width> (&w)[4]) {
  Blocks<width> product0, product1;
  multiply_words<width>(product0, w[0], kPhiloxMultiplier0);
  multiply_words<width>(product1, w[2], kPhiloxMultiplier1);
  w[0] = (product1 >> 32) ^ w[1] ^ key0;
  w[1] = product1;
  w[2] = (product0 >> 32) ^ w[3] ^ key1;
  w[3] = product0;
}

// GCC takes wide registers apart before it knows the instruction set, and then misses that all
// parts are set.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
/// Counters become blocks. Two vectors at a time, as one alone waits for its products.
template <Width width>
PORTER_INLINE inline void philox_rounds(const PhiloxStream& stream, Blocks<width> (&a)[4],
                                        Blocks<width> (&b)[4]) {
  for (std::size_t round = 0; round < kPhiloxRounds; ++round) {
    philox_round<width>(stream.keys0[round], stream.keys1[round], a);
    philox_round<width>(stream.keys0[round], stream.keys1[round], b);
  }
}

/// The four words of the blocks numbered first[i] and first[i] + width.
template <Width width>
PORTER_INLINE inline void philox(const PhiloxStream& stream, const Blocks<width>& first,
                                 Blocks<width> (&a)[4], Blocks<width> (&b)[4]) {
  a[0] = first;
  a[1] = Blocks<width>{} + stream.round;
  a[2] = Blocks<width>{} + stream.agent;
  a[3] = Blocks<width>{} + stream.use;
  b[0] = first + std::uint64_t{width};
  for (std::size_t k = 1; k < 4; ++k) b[k] = a[k];
  philox_rounds<width>(stream, a, b);
}
#pragma GCC diagnostic pop

/// Lane by lane, the low half of `even` below the low half of `odd`, in the order of memory.
template <Width width>
PORTER_INLINE inline void store_words(const Blocks<width>& even, const Blocks<width>& odd,
                                      std::uint32_t* out) {
  const Blocks<width> joined = (even & 0xFFFFFFFF) | (odd << 32);
  std::memcpy(out, &joined, sizeof joined);
}

}  // namespace porter
