// SPDX-License-Identifier: Apache-2.0
#include "core/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

// The definition, word for word.
std::uint32_t plain_below(std::uint64_t bound, RngStream& rng) {
  for (;;) {
    const std::uint64_t product = rng.next_u32() * bound;
    if (product % (1ULL << 32) >= (1ULL << 32) % bound)
      return static_cast<std::uint32_t>(product >> 32);
  }
}

std::vector<std::uint32_t> plain_choose(std::size_t k, std::size_t n, RngStream& rng) {
  std::set<std::uint32_t> taken;
  for (std::size_t j = n - k; j < n; ++j) {
    const auto t = plain_below(j + 1, rng);
    if (!taken.insert(t).second) taken.insert(static_cast<std::uint32_t>(j));
  }
  return {taken.begin(), taken.end()};
}

TEST(Choose, FollowsItsDefinitionAtEverySize) {
  std::uint32_t round = 0;
  for (const std::size_t n : {1, 2, 5, 40, 1000, 50890})
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n / 20, n / 2, n}) {
      SCOPED_TRACE(testing::Message() << k << " of " << n);
      RngStream rng(1, Draw::test, 0, ++round);
      std::vector<std::uint32_t> out = {7};
      choose(k, n, rng, out);
      RngStream plain(1, Draw::test, 0, round);
      EXPECT_EQ(out, plain_choose(k, n, plain));
      EXPECT_EQ(out.size(), k);
      EXPECT_EQ(rng.next_u32(), plain.next_u32()) << "it takes as many words";
    }
}

TEST(Choose, FollowsItsDefinitionWhereManyWordsAreRejected) {
  // Of the words for bounds just above 2^31 about half are rejected.
  constexpr std::size_t n = (1ULL << 31) + 40;
  for (std::uint32_t round = 0; round < 20; ++round)
    for (const std::size_t k : {1, 32}) {
      RngStream rng(3, Draw::test, 0, round), plain = rng;
      std::vector<std::uint32_t> out;
      choose(k, n, rng, out);
      EXPECT_EQ(out, plain_choose(k, n, plain));
      EXPECT_EQ(rng.next_u32(), plain.next_u32());
    }
}

TEST(Choose, StartsAtTheNextWordOfTheStream) {
  for (int used = 0; used < 6; ++used) {
    RngStream rng(5, Draw::test, 0, 0);
    for (int i = 0; i < used; ++i) rng.next_u32();
    auto plain = rng;
    std::vector<std::uint32_t> out;
    choose(50, 3000, rng, out);
    EXPECT_EQ(out, plain_choose(50, 3000, plain));
  }
}

TEST(DrawBelow, SkipsRejectedWords) {
  // 2^32 mod 3 = 1: of the words for {0, 1, 2} only 0 is rejected. 2^32 mod 4 = 0: none is.
  const std::vector<std::uint32_t> words = {0, 0, 0x55555556, 0, 0xFFFFFFFF};
  std::vector<std::uint32_t> draws(words.size());
  ASSERT_EQ(draw_below(words, 2, draws), 3U);
  draws.resize(3);
  EXPECT_EQ(draws, (std::vector<std::uint32_t>{1, 0, 4}));
}

TEST(ReadBitmap, GivesThePositionsOfAllBits) {
  RngStream rng(6, Draw::test, 0, 0);
  for (const std::uint64_t one_of : {1, 2, 20, 300})
    for (const std::size_t words : {2, 4, 30}) {
      std::vector<std::uint32_t> bitmap(words), expected;
      for (std::uint32_t i = 0; i < 32 * words; ++i)
        if (rng.below(one_of) == 0) {
          bitmap[i / 32] |= 1U << (i % 32);
          expected.push_back(i);
        }
      std::vector<std::uint32_t> out(expected.size() + kPositionSlack);
      read_bitmap(bitmap, out);
      out.resize(expected.size());
      EXPECT_EQ(out, expected) << "one of " << one_of << ", " << words << " words";
    }
}

TEST(Choose, EverySubsetIsEquallyLikely) {
  std::map<std::vector<std::uint32_t>, double> count;  // the 10 pairs of 5
  std::vector<std::uint32_t> out;
  for (std::uint32_t round = 0; round < 20000; ++round) {
    RngStream rng(2, Draw::test, 0, round);
    choose(2, 5, rng, out);
    ++count[out];
  }
  ASSERT_EQ(count.size(), 10U);
  double chi2 = 0;  // 9 degrees of freedom: above 33.7 with probability 1e-4
  for (const auto& [subset, c] : count) chi2 += (c - 2000) * (c - 2000) / 2000;
  EXPECT_LT(chi2, 33.7);
}

}  // namespace
}  // namespace porter
