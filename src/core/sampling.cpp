// SPDX-License-Identifier: Apache-2.0
#include "core/sampling.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PORTER_PACKED_BYTES 1
#endif

#include "core/vectors.hpp"

namespace porter {
namespace {

std::size_t draw_one_by_one(std::span<const std::uint32_t> words, std::size_t j,
                            std::span<std::uint32_t> draws) {
  std::size_t count = 0;
  for (const auto word : words) {
    std::uint32_t draw;
    if (draw_from(word, static_cast<std::uint32_t>(j + count + 1), draw)) draws[count++] = draw;
  }
  return count;
}

#ifdef PORTER_PACKED_BYTES

// 64 bits at a time: the numbers of those that are set move together in a register of bytes, eight
// of which become positions at once.
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]] void read_packed(
    std::span<const std::uint32_t> bitmap, std::uint32_t* to) {
  constexpr int kAtOnce = 8;
  static_assert(kAtOnce <= kPositionSlack);
  alignas(64) std::array<std::uint8_t, 64> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i);
  const auto all = _mm512_load_si512(numbers.data());
  const auto write = [](__m128i bytes, __m256i base, std::uint32_t * at)
      __attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt"))) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at),
                        _mm256_add_epi32(_mm256_cvtepu8_epi32(bytes), base));
  };
  for (std::size_t w = 0; w + 1 < bitmap.size(); w += 2) {
    const auto word = std::uint64_t{bitmap[w + 1]} << 32 | bitmap[w];
    const auto base = _mm256_set1_epi32(static_cast<int>(32 * w));
    const auto packed = _mm512_maskz_compress_epi8(word, all);
    const int count = std::popcount(word);
    __m128i first;
    std::memcpy(&first, &packed, sizeof first);
    write(first, base, to);
    if (count > kAtOnce) {
      _mm512_store_si512(numbers.data(), packed);
      for (int done = kAtOnce; done < count; done += kAtOnce)
        write(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(numbers.data() + done)), base,
              to + done);
    }
    to += count;
  }
}

#endif

}  // namespace

std::size_t draw_below(std::span<const std::uint32_t> words, std::size_t j,
                       std::span<std::uint32_t> draws) {
  return with_vectors([=]<Width>() PORTER_INLINE {
    assert(draws.size() >= words.size());
    // 2^32 mod bound is below bound: as long as no product is, none can be rejected.
    const auto first_bound = static_cast<std::uint32_t>(j + 1);
    std::uint32_t doubtful = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint32_t bound = first_bound + static_cast<std::uint32_t>(i);
      const std::uint64_t product = std::uint64_t{words[i]} * bound;
      draws[i] = static_cast<std::uint32_t>(product >> 32);
      doubtful |= static_cast<std::uint32_t>(product) < bound ? 1U : 0U;
    }
    return doubtful == 0 ? words.size() : draw_one_by_one(words, j, draws);
  });
}

void read_bitmap(std::span<const std::uint32_t> bitmap, std::span<std::uint32_t> out) {
#ifdef PORTER_PACKED_BYTES
  if (simd() == Simd::avx512 && __builtin_cpu_supports("avx512vbmi2"))
    return read_packed(bitmap, out.data());
#endif
  with_vectors([=]<Width>() PORTER_INLINE {
    // Most words have few bits: a fixed number of steps beats a loop whose end is hard to predict.
    constexpr int kSteps = 6, kMore = 4;
    static_assert(kSteps <= kPositionSlack && kMore <= kPositionSlack);
    auto* to = out.data();
    for (std::size_t w = 0; w + 1 < bitmap.size(); w += 2) {
      auto word = std::uint64_t{bitmap[w + 1]} << 32 | bitmap[w];
      const auto base = static_cast<std::uint32_t>(32 * w);
      const int count = std::popcount(word);
#pragma GCC unroll 1
      for (int i = 0; i < kSteps; ++i, word &= word - 1)
        to[i] = base + static_cast<std::uint32_t>(std::countr_zero(word));
      for (int done = kSteps; done < count; done += kMore)
        for (int i = done; i < done + kMore; ++i, word &= word - 1)
          to[i] = base + static_cast<std::uint32_t>(std::countr_zero(word));
      to += count;
    }
  });
}

void read_bitmap(std::vector<std::uint32_t>& bitmap) {
  const std::size_t words = bitmap.size();
  std::size_t count = 0;
  for (const auto word : bitmap) count += static_cast<std::size_t>(std::popcount(word));
  // The bitmap moves behind the place of the result.
  const std::size_t start = count + kPositionSlack;
  bitmap.resize(start + words);
  std::copy_backward(bitmap.begin(), bitmap.begin() + static_cast<std::ptrdiff_t>(words),
                     bitmap.end());
  read_bitmap(std::span(bitmap).subspan(start), std::span(bitmap).first(start));
  bitmap.resize(count);
}

}  // namespace porter
