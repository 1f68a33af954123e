// SPDX-License-Identifier: Apache-2.0
#include "porter/core/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace porter {
namespace {

struct Counted {
  static inline std::atomic<int> made{0};
  Counted() { ++made; }
  int uses = 0;
  std::atomic<int> users{0};
};

TEST(ScratchPool, NobodySharesAndThereAreAsManyAsThreads) {
  Counted::made = 0;
  ScratchPool<Counted> scratch;
  ThreadPool pool(4);
  std::atomic<int> shared{0};
  pool.parallel_for(2000, [&](std::size_t) {
    const auto loan = scratch.take();
    if (++loan->users != 1) ++shared;
    ++loan->uses;
    --loan->users;
  });
  EXPECT_EQ(shared, 0);
  EXPECT_GE(Counted::made, 1);
  EXPECT_LE(Counted::made, 4);
}

TEST(ScratchPool, AnObjectComesBackAsItWasLeft) {
  ScratchPool<std::vector<int>> scratch;
  scratch.take()->assign({1, 2, 3});
  const auto first = scratch.take();
  EXPECT_EQ(*first, (std::vector{1, 2, 3}));
  EXPECT_TRUE(scratch.take()->empty());  // the other is out
}

}  // namespace
}  // namespace porter
