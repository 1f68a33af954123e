// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compress_cases.hpp"

namespace porter {
namespace {

TEST(Bernoulli, KeepsEachEntryByItsOwnDraw) {
  const auto x = gaussian_vector(1000);
  const auto c = make_compressor("bernoulli:0.1");
  std::size_t kept = 0;
  for (std::uint32_t round = 0; round < 100; ++round) {
    auto rng = compress_stream(round);
    std::vector<float> expected(x.size(), 0.0F);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (rng.uniform() < 0.1) expected[i] = x[i];
    EXPECT_EQ(compress(*c, x, round), expected);
    const auto decoded = round_trip(*c, x, round);
    EXPECT_EQ(encode(*c, x, round).size(), decoded.values.size() * 4 + 4);
    kept += decoded.values.size();
  }
  EXPECT_NEAR(double(kept), 10000, 5 * std::sqrt(1e5 * 0.1 * 0.9));  // five standard deviations
}

TEST(Bernoulli, ScalesByOneOverPWhenUnbiased) {
  const auto x = gaussian_vector(100);
  const auto c = make_compressor("bernoulli:0.25", true);
  const auto decoded = round_trip(*c, x);
  ASSERT_GT(decoded.values.size(), 0U);
  for (std::size_t i = 0; i < decoded.values.size(); ++i)
    EXPECT_EQ(decoded.values[i], 4 * x[decoded.indices[i]]);
  EXPECT_DOUBLE_EQ(c->omega(100).value(), 3.0);
  EXPECT_FALSE(c->rho(100));
  EXPECT_FALSE(c->kept(100));
}

}  // namespace
}  // namespace porter
