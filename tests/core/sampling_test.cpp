// SPDX-License-Identifier: Apache-2.0
#include "porter/core/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

// The definition, word for word.
std::vector<std::uint32_t> plain_choose(std::size_t k, std::size_t n, RngStream rng) {
  std::set<std::uint32_t> taken;
  for (std::size_t j = n - k; j < n; ++j) {
    const auto t = static_cast<std::uint32_t>(rng.below(j + 1));
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
      EXPECT_EQ(out, plain_choose(k, n, RngStream(1, Draw::test, 0, round)));
      EXPECT_EQ(out.size(), k);
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
