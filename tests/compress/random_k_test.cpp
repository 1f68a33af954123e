// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

std::vector<std::uint32_t> drawn(std::size_t k, std::size_t d, std::uint32_t round) {
  const auto c = make_compressor("random_k:k=" + std::to_string(k));
  return round_trip(*c, std::vector<float>(d, 1.0F), round).indices;
}

TEST(RandomK, DrawsByThePlainDefinition) {
  for (const auto& [k, d] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 1},
                                                                             {1, 2},
                                                                             {2, 2},
                                                                             {3, 64},
                                                                             {64, 64},
                                                                             {65, 65},
                                                                             {60, 128},
                                                                             {100, 1000},
                                                                             {999, 1000}})
    for (std::uint32_t round = 0; round < 20; ++round) {
      auto rng = compress_stream(round);
      std::set<std::uint32_t> taken;
      for (std::uint64_t j = d - k; j < d; ++j) {
        std::uint64_t product = rng.next_u32() * (j + 1);
        while (product % (1ULL << 32) < (1ULL << 32) % (j + 1)) product = rng.next_u32() * (j + 1);
        const auto t = static_cast<std::uint32_t>(product >> 32);
        taken.insert(taken.contains(t) ? static_cast<std::uint32_t>(j) : t);
      }
      EXPECT_EQ(drawn(k, d, round), std::vector<std::uint32_t>(taken.begin(), taken.end()))
          << k << " of " << d << ", round " << round;
    }
}

TEST(RandomK, DrawsEverySetEquallyOften) {
  // 10 sets, 10000 draws: chi-square with 9 degrees of freedom exceeds 33.7 with probability 1e-4.
  std::map<std::vector<std::uint32_t>, int> count;
  for (std::uint32_t round = 0; round < 10000; ++round) ++count[drawn(2, 5, round)];
  ASSERT_EQ(count.size(), 10U);
  double chi2 = 0;
  for (const auto& [set, n] : count) chi2 += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 33.7);
}

TEST(RandomK, KeepsExactlyKEntriesUnchanged) {
  const auto x = gaussian_vector(1000);
  const auto c = make_compressor("random_k:0.05");
  for (std::uint32_t round = 0; round < 50; ++round) {
    const auto decoded = round_trip(*c, x, round);
    ASSERT_EQ(decoded.indices.size(), 50U);
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(decoded.values[i], x[decoded.indices[i]]);
  }
}

TEST(RandomK, ScalesByDOverKWhenUnbiased) {
  const auto x = gaussian_vector(100);
  const auto c = make_compressor("random_k:k=30", true);
  const auto decoded = round_trip(*c, x);
  ASSERT_EQ(decoded.values.size(), 30U);
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_EQ(decoded.values[i], static_cast<float>(x[decoded.indices[i]] * (100.0 / 30)));
  EXPECT_FALSE(c->rho(100));
  EXPECT_DOUBLE_EQ(c->omega(100).value(), 100.0 / 30 - 1);
}

TEST(RandomK, SendsTheFloatsAndTheChecksumOnly) {
  for (const bool unbiased : {false, true})
    EXPECT_EQ(encode(*make_compressor("random_k:0.05", unbiased), gaussian_vector(50890)).size(),
              2544U * 4 + 4);
}

TEST(RandomK, RefusesToScaleBeyondTheRangeOfFloat) {
  const std::vector<float> x(10, 1e38F);
  EXPECT_NO_THROW(encode(*make_compressor("random_k:0.1"), x));
  try {
    encode(*make_compressor("random_k:0.1", true), x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numeric);
  }
}

TEST(RandomK, RefusesValuesThatAreNotFinite) {
  const auto c = make_compressor("random_k:k=2");
  Payload body;
  put(body, 1.0F);
  put(body, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW(decode(*c, with_checksum(body), 9), Error);
}

}  // namespace
}  // namespace porter
