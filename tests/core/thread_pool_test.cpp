// SPDX-License-Identifier: Apache-2.0
#include "porter/core/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
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

// Jobs so short that threads come late, when the next one is already there.
TEST(ThreadPool, LosesNoPieceOfManyShortJobs) {
  ThreadPool pool(4);
  std::vector<std::size_t> calls(40, 0);
  std::size_t expected = 0;
  for (std::size_t job = 0; job < 5000; ++job) {
    const std::size_t count = job % (calls.size() + 1);
    pool.parallel_for(count, [&](std::size_t i) { calls[i] += i + 1; });
    expected += count * (count + 1) / 2;
  }
  EXPECT_EQ(std::accumulate(calls.begin(), calls.end(), std::size_t{0}), expected);
}

TEST(ScratchPool, LendsAnObjectToOneUserAtATime) {
  struct Object {
    int users = 0;
  };
  ScratchPool<Object> objects;
  ThreadPool pool(4);
  std::atomic<int> shared{0};
  pool.parallel_for(2000, [&](std::size_t) {
    const auto object = objects.take(), other = objects.take();
    shared += (object.get() == other.get()) + (object->users++ != 0);
    --object->users;
  });
  EXPECT_EQ(shared, 0);
  objects.take()->users = 7;
  EXPECT_EQ(objects.take()->users, 7);  // as its last user left it
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
