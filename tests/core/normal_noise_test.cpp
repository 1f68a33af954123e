// SPDX-License-Identifier: Apache-2.0
#include "core/normal_noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "chi_square.hpp"
#include "core/normal_pair.hpp"
#include "every_simd_target.hpp"

namespace porter {
namespace {

constexpr std::size_t kPairs = kNoiseAlignment / 2;
constexpr std::uint64_t kBigSeed = 0x9876543210fedcba;

// The definition, one number at a time.
float reference(const PhiloxStream& stream, std::uint64_t number) {
  const auto group = number / kNoiseAlignment, at = number % kNoiseAlignment;
  const auto [cosine, sine] = normal_pair(stream, group * kPairs + at % kPairs);
  return at < kPairs ? cosine : sine;
}

std::vector<float> normals(std::size_t count, std::uint64_t seed, std::uint32_t agent,
                           std::uint32_t round, Draw use = Draw::noise) {
  std::vector<float> z(count);
  NormalNoise(seed, agent, round, use).fill(0, z);
  return z;
}

void expect_reference(std::uint64_t seed, std::uint32_t agent, std::uint32_t round,
                      std::uint64_t first, std::size_t count) {
  std::vector<float> z(count + 1, 77.0F);
  NormalNoise(seed, agent, round).fill(first, std::span(z).first(count));
  EXPECT_EQ(z.back(), 77.0F) << "wrote past the end";
  const PhiloxStream stream(seed, Draw::noise, agent, round);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(z[i]),
              std::bit_cast<std::uint32_t>(reference(stream, first + i)))
        << "seed " << seed << ", agent " << agent << ", round " << round << ", number "
        << first + i;
}

// What a pair stands for, in extended precision.
struct ExactPair {
  long double radius, cosine, sine;
};

ExactPair exact_pair(std::uint32_t radius_word, std::uint32_t angle_word, long double fraction) {
  constexpr long double kPi = 3.14159265358979323846264338327950288L;
  const long double u = (radius_word + fraction) * 0x1p-32L, v = 1 - u;
  const long double radius = std::sqrt(-2 * (u < 0.5L ? std::log(u) : std::log1p(-v)));
  const auto steps = static_cast<std::int32_t>(angle_word << 2 | 2);
  const long double angle = kPi / 4 * (steps * 0x1p-31L);
  long double first = std::cos(angle), second = std::sin(angle);
  if ((angle_word & 0x80000000) != 0) first = -first;
  if ((angle_word & 0x40000000) != 0) std::swap(first, second);
  return {radius, radius * first, radius * second};
}

// Relative to each value, so that small ones count, too.
void expect_close(NormalPair pair, const ExactPair& exact, long double tolerance) {
  EXPECT_LE(std::abs(pair.cosine - exact.cosine), tolerance * std::abs(exact.cosine));
  EXPECT_LE(std::abs(pair.sine - exact.sine), tolerance * std::abs(exact.sine));
}

// Words of every size: the leading bits of each are equal.
std::uint32_t skewed_word(RngStream& rng) {
  const auto zeros = rng.below(32);
  const auto word = rng.next_u32() >> zeros;
  return rng.below(2) == 0 ? word : ~word;
}

TEST(NormalNoise, EveryInstructionSetGivesTheBitsOfTheReference) {
  for_every_simd_target([](const std::string&) {
    for (const std::uint64_t seed : {std::uint64_t{1}, kBigSeed})
      for (const std::uint32_t agent : {0U, 1U, 0xffffffffU})
        for (const std::uint32_t round : {1U, 0x80000001U})
          for (const std::size_t count : {0, 1, 31, 32, 33, 63, 64, 65, 127, 200, 1000})
            expect_reference(seed, agent, round, 0, count);
    // About thirty of these pairs are refined.
    expect_reference(2, 3, 4, 0, 1 << 18);
  });
}

TEST(NormalNoise, AnyPartCanBeMadeAlone) {
  for_every_simd_target([](const std::string&) {
    for (const std::uint64_t first : {64ULL, 640ULL, (1ULL << 32) - 64, (1ULL << 33) - 320})
      for (const std::size_t count : {1, 64, 77, 320}) expect_reference(5, 6, 7, first, count);
  });
}

TEST(NormalNoise, PlainPairsFollowBoxAndMuller) {
  RngStream rng(1, Draw::test, 0, 0);
  for (int i = 0; i < 200'000; ++i) {
    const auto radius_word = std::max(skewed_word(rng), kRefineBelow);
    const auto angle_word = skewed_word(rng) ^ (rng.next_u32() & 0xc0000000);
    SCOPED_TRACE(testing::Message() << "words " << radius_word << ", " << angle_word);
    // Seven roundings of half a unit, 6e-8, in the worst of 2e7 pairs: 3.2e-7.
    expect_close(plain_pair(radius_word, angle_word), exact_pair(radius_word, angle_word, 0.5L),
                 4e-7L);
    if (HasFailure()) return;
  }
}

TEST(NormalNoise, RefinedPairsAreExactToTheLastBitsOfAFloat) {
  RngStream rng(2, Draw::test, 0, 0);
  double longest = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto radius_word =
        i % 4 == 0 ? 0 : static_cast<std::uint32_t>(rng.below(kRefineBelow)) >> rng.below(20);
    const auto angle_word = rng.next_u32();
    const auto bits = i % 1000 == 0 ? 0 : rng.next_u64() >> rng.below(64);
    SCOPED_TRACE(testing::Message()
                 << "words " << radius_word << ", " << angle_word << ", " << bits);
    const auto exact =
        exact_pair(radius_word, angle_word, (static_cast<long double>(bits) + 0.5L) * 0x1p-64L);
    longest = std::max(longest, static_cast<double>(exact.radius));
    // One rounding to float, and far smaller ones in double.
    expect_close(refined_pair(radius_word, angle_word, bits), exact, 6.1e-8L);
    if (HasFailure()) return;
  }
  EXPECT_GT(longest, 11.5);
}

TEST(NormalNoise, SmallRadiusWordsAreRefinedFromTheUpperHalfOfTheCounters) {
  const PhiloxStream stream(8, Draw::noise, 0, 1);
  const auto z = normals(1 << 18, 8, 0, 1);
  int refined = 0;
  for (std::uint32_t pair = 0; pair < z.size() / 2; ++pair) {
    const std::size_t at = 2 * (pair % 2);
    const auto words = philox_block({pair / 2, 1, 0, 4}, {8, 0});
    if (words[at] >= kRefineBelow) continue;
    ++refined;
    const auto more = philox_block({pair / 2 + 0x80000000, 1, 0, 4}, {8, 0});
    const auto fraction = (more[at] * 0x1p-32L + more[at + 1] + 0.5L * 0x1p-32L) * 0x1p-32L;
    const std::size_t out = pair / kPairs * kNoiseAlignment + pair % kPairs;
    expect_close({z[out], z[out + kPairs]}, exact_pair(words[at], words[at + 1], fraction),
                 6.1e-8L);
  }
  EXPECT_NEAR(refined, 32, 28);  // 2^17 pairs, one in 2^12 of them: five standard deviations
}

TEST(NormalNoise, TheRadiusFallsAsItsWordGrowsAlsoWhereRefinementEnds) {
  // On the axis nearest to the angle word 0, the cosine is the radius.
  float previous = refined_pair(kRefineBelow - 1, 0, ~std::uint64_t{0}).cosine;
  for (std::uint32_t word = kRefineBelow; word < kRefineBelow + 100; ++word) {
    const float radius = plain_pair(word, 0).cosine;
    EXPECT_LE(radius, previous * (1 + 4e-7F)) << word;
    previous = radius;
  }
  EXPECT_NEAR(previous, std::sqrt(24 * std::log(2.0)), 1e-4);
  EXPECT_NEAR(plain_pair(0xffffffff, 0).cosine, std::sqrt(0x1p-32), 1e-11);
}

TEST(NormalNoise, FollowsTheNormalLawIntoTheTails) {
  constexpr int kBinsPerSigma = 16, kReach = 6, kBins = 2 * kReach * kBinsPerSigma;
  constexpr std::size_t kCount = 25'000'000, kPart = kNoiseAlignment << 10;
  std::vector<std::uint64_t> bins(kBins + 2);  // the first and the last are what lies outside
  std::vector<float> z(kPart);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, count = 0;
  for (std::size_t first = 0; first < kCount; first += kPart) {
    NormalNoise(11, 2, 3).fill(first, z);
    for (const float value : z) {
      const double x = value, x2 = x * x;
      m1 += x, m2 += x2, m3 += x * x2, m4 += x2 * x2;
      const auto bin = static_cast<int>((x + kReach) * kBinsPerSigma + 1);
      ++bins[static_cast<std::size_t>(std::clamp(bin, 0, kBins + 1))];
    }
    count += kPart;
  }
  // Five standard errors each: the square roots of 1, 2, 15 and 96, over that of the count.
  const double error = 5 / std::sqrt(count);
  EXPECT_NEAR(m1 / count, 0, error);
  EXPECT_NEAR(m2 / count, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(m3 / count, 0, error * std::sqrt(15.0));
  EXPECT_NEAR(m4 / count, 3, error * std::sqrt(96.0));

  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  std::vector<double> expected = {count * below(-kReach)};
  double cdf = 0, worst = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    const double a = double(bin) / kBinsPerSigma - kReach, b = a + 1.0 / kBinsPerSigma;
    // From the nearer end, where nothing cancels.
    expected.push_back(count * (a < 0 ? below(b) - below(a) : below(-a) - below(-b)));
    cdf += static_cast<double>(bins[static_cast<std::size_t>(bin) + 1]);
    worst = std::max(worst, std::abs(cdf / count - below(b)));
  }
  expected.push_back(count * below(-kReach));
  EXPECT_LT(std::abs(chi_square_score(bins, expected)), 4);  // in standard deviations
  EXPECT_LT(worst, 2.23 / std::sqrt(count));                 // Kolmogorov-Smirnov, probability 1e-4

  for (const int sigmas : {3, 4, 5}) {
    std::uint64_t seen = 0;
    for (int bin = 0; bin <= (kReach - sigmas) * kBinsPerSigma; ++bin)
      seen += bins[static_cast<std::size_t>(bin)] + bins[static_cast<std::size_t>(kBins + 1 - bin)];
    const double wanted = count * 2 * below(-sigmas);
    EXPECT_NEAR(static_cast<double>(seen), wanted, 5 * std::sqrt(wanted)) << sigmas;
  }
}

double correlation(const std::vector<float>& a, const std::vector<float>& b,
                   std::size_t shift = 0) {
  double sum = 0;
  for (std::size_t i = shift; i < a.size(); ++i) sum += double{a[i]} * double{b[i - shift]};
  return sum / static_cast<double>(a.size() - shift);
}

TEST(NormalNoise, AgentsRoundsUsesAndNeighboursAreIndependent) {
  constexpr std::size_t kCount = 1 << 18;
  const double limit = 5 / std::sqrt(double{kCount});
  const auto z = normals(kCount, 21, 4, 5);
  for (const auto& other : {normals(kCount, 22, 4, 5), normals(kCount, 21 + (1ULL << 32), 4, 5),
                            normals(kCount, 21, 5, 5), normals(kCount, 21, 4, 6),
                            normals(kCount, 21, 4, 5, Draw::test)})
    EXPECT_NEAR(correlation(z, other), 0, limit);
  // Within a block, between cosine and sine, and from group to group; sizes, too.
  std::vector<float> squares;
  for (const float x : z) squares.push_back((x * x - 1) / std::sqrt(2.0F));
  for (const std::size_t shift : {1, 2, 31, 32, 33, 64}) {
    EXPECT_NEAR(correlation(z, z, shift), 0, limit) << shift;
    EXPECT_NEAR(correlation(squares, squares, shift), 0, limit) << shift;
  }
}

}  // namespace
}  // namespace porter
