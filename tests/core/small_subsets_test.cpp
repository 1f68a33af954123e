// SPDX-License-Identifier: Apache-2.0
#include "core/small_subsets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/sampling.hpp"

namespace porter {
namespace {

// Near 2^32 most words are doubtful and many rejected; small ranges collide.
TEST(ChooseEach, GivesEveryAgentItsOwnSubset) {
  for (const std::size_t n : {1UL, 2UL, 7UL, 12UL, 124UL, 3256UL, 3'000'000'000UL, 4'294'967'295UL})
    for (std::size_t k = 0; k <= std::min(n, kSmallSubset); ++k)
      for (const std::size_t count : {0UL, 1UL, 7UL, 8UL, 21UL}) {
        SCOPED_TRACE(testing::Message() << k << " of " << n << ", " << count << " agents");
        std::vector<std::uint32_t> agents, subsets(k * count), alone;
        for (std::uint32_t i = 0; i < count; ++i) agents.push_back(5 + 3 * i);
        choose_each(k, n, 0x123456789ABCDEF0, Draw::compress_x, agents, 9, subsets);
        for (std::size_t i = 0; i < count; ++i) {
          RngStream stream(0x123456789ABCDEF0, Draw::compress_x, agents[i], 9);
          choose(k, n, stream, alone);
          ASSERT_TRUE(std::ranges::equal(alone, std::span(subsets).subspan(i * k, k)));
        }
      }
}

}  // namespace
}  // namespace porter
