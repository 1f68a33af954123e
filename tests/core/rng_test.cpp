// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rng.hpp"

#include <gtest/gtest.h>

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "every_simd_target.hpp"

namespace porter {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Philox, MatchesThePublishedKnownAnswers) {
  // Random123 1.14, tests/kat_vectors, lines "philox4x32 10".
  EXPECT_EQ(philox_block({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox_block({f, f, f, f}, {f, f}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, MatchesRandom123OnRandomCounters) {
  RngStream rng(7, Draw::test, 0, 0);
  for (int i = 0; i < 10000; ++i) {
    const Block counter = {rng.next_u32(), rng.next_u32(), rng.next_u32(), rng.next_u32()};
    const std::array<std::uint32_t, 2> key = {rng.next_u32(), rng.next_u32()};
    const r123::Philox4x32::ctr_type c = {{counter[0], counter[1], counter[2], counter[3]}};
    const r123::Philox4x32::key_type k = {{key[0], key[1]}};
    const auto expected = r123::Philox4x32()(c, k);
    ASSERT_EQ(philox_block(counter, key),
              (Block{expected[0], expected[1], expected[2], expected[3]}));
  }
}

TEST(RngStream, IsAddressedBySeedUseAgentAndRound) {
  const auto first = [](std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round) {
    return RngStream(seed, use, agent, round).next_u64();
  };
  const auto base = first(1, Draw::batch, 2, 3);
  EXPECT_EQ(base, first(1, Draw::batch, 2, 3));
  EXPECT_NE(base, first(2, Draw::batch, 2, 3));
  EXPECT_NE(base, first(1ULL << 40, Draw::batch, 2, 3));
  EXPECT_NE(base, first(1, Draw::noise, 2, 3));
  EXPECT_NE(base, first(1, Draw::batch, 3, 3));
  EXPECT_NE(base, first(1, Draw::batch, 2, 4));
}

TEST(RngStream, WordsComeInCounterOrder) {
  RngStream rng(0x0000000500000004, Draw::noise, 9, 8);
  for (std::uint32_t block = 0; block < 3; ++block)
    for (const auto word : philox_block({block, 8, 9, 4}, {4, 5})) EXPECT_EQ(rng.next_u32(), word);
}

TEST(PhiloxWords, EveryInstructionSetGivesTheWordsOfTheStream) {
  const std::uint64_t seed = 0x0000000500000004;
  for_every_simd_target([&](const std::string&) {
    for (const std::uint32_t first : {0U, 1U, 1000U, 0x7fffff00U})
      for (std::size_t count = 0; count <= 200; ++count) {
        std::vector<std::uint32_t> words(count + 1, 77);
        philox_words(seed, Draw::compress_x, 9, 8, first, std::span(words).first(count));
        EXPECT_EQ(words.back(), 77U) << "wrote past the end";
        for (std::size_t i = 0; i < count; ++i) {
          const auto block = first + static_cast<std::uint32_t>(i / 4);
          ASSERT_EQ(words[i], philox_block({block, 8, 9, 6}, {4, 5})[i % 4]) << count << ", " << i;
        }
      }
  });
}

TEST(RngStream, BelowIsUniformAlsoForAwkwardBounds) {
  // 6 classes, 60000 draws: chi-square with 5 degrees of freedom exceeds 25.7 with probability
  // 1e-4.
  RngStream rng(3, Draw::test, 0, 0);
  std::array<double, 6> count{};
  for (int i = 0; i < 60000; ++i) ++count[rng.below(6)];
  double chi2 = 0;
  for (const double c : count) chi2 += (c - 10000) * (c - 10000) / 10000;
  EXPECT_LT(chi2, 25.7);
  const std::uint64_t huge = (1ULL << 63) + 1;  // nearly half of all words are rejected
  for (int i = 0; i < 1000; ++i) EXPECT_LT(rng.below(huge), huge);
  EXPECT_EQ(rng.below(1), 0U);
}

TEST(RngStream, NormalMomentsAndQuantiles) {
  std::vector<double> x(1'000'000);
  RngStream(5, Draw::noise, 0, 0).fill_normal(x);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    m1 += x[i], m2 += x[i] * x[i], m3 += std::pow(x[i], 3), m4 += std::pow(x[i], 4);
    if (i > 0) lag += x[i] * x[i - 1];
  }
  const auto n = static_cast<double>(x.size());
  // Five standard errors each: sqrt of 1, 2, 15, 96 and 1 over n.
  EXPECT_NEAR(m1 / n, 0, 5e-3);
  EXPECT_NEAR(m2 / n, 1, 5e-3 * std::sqrt(2.0));
  EXPECT_NEAR(m3 / n, 0, 5e-3 * std::sqrt(15.0));
  EXPECT_NEAR(m4 / n, 3, 5e-3 * std::sqrt(96.0));
  EXPECT_NEAR(lag / n, 0, 5e-3);
  std::sort(x.begin(), x.end());
  double worst = 0;  // Kolmogorov-Smirnov; 2.23 / sqrt(n) is exceeded with probability 1e-4
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(0.5 * std::erfc(-x[i] / std::sqrt(2.0)) - double(i) / n));
  EXPECT_LT(worst, 2.23e-3);
}

TEST(RngStream, NormalsFollowBoxMullerOfTheLibraryFunctions) {
  for (std::uint32_t round = 0; round < 20000; ++round) {
    RngStream rng(11, Draw::noise, 1, round);
    const auto w = philox_block({0, round, 1, 4}, {11, 0});
    const auto radius_word = (std::uint64_t{w[1]} << 32) | w[0];
    const auto angle_word = ((std::uint64_t{w[3]} << 32) | w[2]) >> 11;
    const double r = std::sqrt(-2 * std::log((static_cast<double>(radius_word) + 0.5) * 0x1p-64));
    const double angle = 2 * M_PI * static_cast<double>(angle_word) * 0x1p-53;
    // The argument of the library's cosine is rounded, hence the absolute part.
    EXPECT_NEAR(rng.normal(), r * std::cos(angle), 1e-14 * (1 + r));
    EXPECT_NEAR(rng.normal(), r * std::sin(angle), 1e-14 * (1 + r));
  }
}

TEST(RngStream, OneByOneAndFilledNormalsAgree) {
  for (const std::size_t n : {1, 2, 7, 100}) {
    std::vector<double> filled(n);
    RngStream(1, Draw::noise, 0, 0).fill_normal(filled);
    RngStream one(1, Draw::noise, 0, 0);
    for (const double value : filled) EXPECT_EQ(one.normal(), value);
  }
}

}  // namespace
}  // namespace porter
