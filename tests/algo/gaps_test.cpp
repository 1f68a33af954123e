// SPDX-License-Identifier: Apache-2.0
#include "algo/gaps.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

// Another answer gives other bits, so these are part of the format of a run.
TEST(Gaps, AreStoredWhereThatWasFoundToBeFaster) {
  constexpr std::size_t kMlp = 50'890, kShort = kTileSize - 1;
  EXPECT_TRUE(should_store_gaps<double>(33, kMlp, kMlp));
  EXPECT_TRUE(should_store_gaps<float>(33, kMlp, kMlp));
  for (const std::size_t agents : {2, 32}) {
    EXPECT_TRUE(should_store_gaps<double>(agents, kMlp / 16, kMlp));
    EXPECT_FALSE(should_store_gaps<double>(agents, kMlp / 16 + 1, kMlp));
    EXPECT_TRUE(should_store_gaps<double>(agents, kShort / 32, kShort));
    EXPECT_FALSE(should_store_gaps<double>(agents, kShort / 32 + 1, kShort));
    for (const std::size_t dim : {kMlp, kShort}) {
      EXPECT_TRUE(should_store_gaps<float>(agents, dim / 32, dim));
      EXPECT_FALSE(should_store_gaps<float>(agents, dim / 32 + 1, dim));
    }
  }
}

}  // namespace
}  // namespace porter
