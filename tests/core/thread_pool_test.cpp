// SPDX-License-Identifier: Apache-2.0
#include "porter/core/thread_pool.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>

namespace porter {
namespace {

TEST(ThreadPool, CallsEveryPieceOnce) {
  for (const std::size_t threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (const std::size_t count : {0, 1, 2, 7, 1000}) {
      std::vector<int> calls(count, 0);
      for (int repeat = 0; repeat < 20; ++repeat)
        pool.parallel_for(count, [&](std::size_t i) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 20));
    }
  }
}

TEST(ThreadPool, RethrowsTheFirstErrorAndStaysUsable) {
  for (const std::size_t threads : {1, 3}) {
    ThreadPool pool(threads);
    try {
      pool.parallel_for(100, [](std::size_t i) {
        if (i >= 40) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "40");
    }
    int sum = 0;
    pool.parallel_for(1, [&](std::size_t) { sum = 1; });
    EXPECT_EQ(sum, 1);
  }
}

}  // namespace
}  // namespace porter
