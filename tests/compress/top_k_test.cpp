// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

std::vector<std::uint32_t> kept(std::size_t k, std::span<const float> x) {
  return round_trip(*make_compressor("top_k:k=" + std::to_string(k)), x).indices;
}

// By sorting all of x: larger magnitudes first, ties by position.
std::vector<std::uint32_t> kept_by_sorting(std::size_t k, std::span<const float> x) {
  std::vector<std::uint32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return std::abs(x[a]) > std::abs(x[b]); });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

using Positions = std::vector<std::uint32_t>;

TEST(TopK, KeepsTheLargestMagnitudes) {
  const std::vector<float> x = {0.5F, -4, 1, 3, -2, 0};
  EXPECT_EQ(kept(1, x), (Positions{1}));
  EXPECT_EQ(kept(2, x), (Positions{1, 3}));
  EXPECT_EQ(kept(3, x), (Positions{1, 3, 4}));
  EXPECT_EQ(compress(*make_compressor("top_k:k=2"), x), (std::vector<float>{0, -4, 0, 3, 0, 0}));
}

TEST(TopK, DoesNotKeepTheSmallestSignedEntries) {
  const std::vector<float> x = {-0.1F, 9, -0.2F, 8};
  EXPECT_EQ(kept(2, x), (Positions{1, 3}));
}

TEST(TopK, PrefersTheSmallerPositionInATie) {
  EXPECT_EQ(kept(2, std::vector<float>{1, -2, 2, 2, -2}), (Positions{1, 2}));
  EXPECT_EQ(kept(3, std::vector<float>(100, -1.0F)), (Positions{0, 1, 2}));
  EXPECT_EQ(kept(2, std::vector<float>{0, -0.0F, 0}), (Positions{0, 1}));
}

TEST(TopK, SelectsWhatSortingSelects) {
  RngStream rng(4, Draw::test, 0, 0);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto d = static_cast<std::size_t>(1 + rng.below(200));
    const auto k = static_cast<std::size_t>(1 + rng.below(d));
    std::vector<float> x(d);
    // Few distinct magnitudes, from subnormal to large, so that ties are common.
    for (auto& value : x)
      value = static_cast<float>(double(rng.below(7)) - 3) * (repeat % 3 == 0 ? 1e-44F : 1e37F);
    if (repeat % 2 == 0) x = gaussian_vector(d);
    EXPECT_EQ(kept(k, x), kept_by_sorting(k, x)) << k << " of " << d << ", repeat " << repeat;
  }
}

TEST(TopK, SendsGapsAndFloats) {
  std::vector<float> x(400, 0.0F);
  x[3] = 1, x[4] = -2, x[304] = 3;
  auto body = bytes({3, 0, 0xAB, 0x02});  // 3; 4 - 3 - 1 = 0; 304 - 4 - 1 = 299
  for (const float value : {1.0F, -2.0F, 3.0F}) put(body, value);
  EXPECT_EQ(encode(*make_compressor("top_k:k=3"), x), with_checksum(body));
}

TEST(TopK, RefusesPositionsOutsideAndNumbersWrittenTooLong) {
  const auto c = make_compressor("top_k:k=2");
  const auto with_values = [](Payload body) {
    put(body, 1.0F);
    put(body, 2.0F);
    return with_checksum(body);
  };
  EXPECT_EQ(decode(*c, with_values(bytes({3, 5})), 10).indices, (Positions{3, 9}));
  EXPECT_THROW(decode(*c, with_values(bytes({3, 6})), 10), Error);
  EXPECT_THROW(decode(*c, with_values(bytes({10, 0})), 10), Error);
  EXPECT_THROW(decode(*c, with_values(bytes({0x83, 0x00, 5})), 10), Error);
  EXPECT_THROW(decode(*c, with_values(bytes({3, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})), 10), Error);
}

TEST(TopK, IsBetterThanItsPromiseOnGaussians) {
  const auto x = gaussian_vector(10000);
  const auto c = make_compressor("top_k:0.05");
  // The largest 5 % of Gaussian magnitudes carry 2 (q f(q) + 1 - F(q)) of |x|^2 with q = 1.96:
  // 27.9 %. The share of one sample has a standard deviation below 1 %.
  EXPECT_NEAR(1 - squared_distance(compress(*c, x), x) / squared_norm(x), 0.279, 0.03);
}

}  // namespace
}  // namespace porter
