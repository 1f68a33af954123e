// SPDX-License-Identifier: Apache-2.0
#include "core/sampling.hpp"

#include <bit>

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
