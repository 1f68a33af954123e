// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "says.hpp"

namespace porter {
namespace {

// Room for two runs.
class Card {
 public:
  using Run = std::shared_ptr<void>;
  Run take(std::shared_ptr<void> lease) {
    if (used_ == 2) throw cuda::NoRoom("none left");
    ++used_;
    most_ = std::max<int>(most_, used_);
    return {this, [this, lease](void*) mutable {
              --used_;  // memory is free before the lease ends
              lease.reset();
            }};
  }
  int most() const { return most_; }

 private:
  std::atomic<int> used_{0}, most_{0};
};

TEST(DeviceQueue, LetsRunsWaitForEachOther) {
  const auto queue = std::make_shared<DeviceQueue>();
  Card card;
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run) {
        const auto held =
            queue->make([&](std::shared_ptr<void> lease) { return card.take(std::move(lease)); });
        ++done;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 400);
  EXPECT_LE(card.most(), 2);
}

TEST(DeviceQueue, TriesAgainWhenARunHasEnded) {
  const auto queue = std::make_shared<DeviceQueue>();
  Card card;
  const auto run = [&] {
    return queue->make([&](std::shared_ptr<void> lease) { return card.take(std::move(lease)); });
  };
  auto first = run();
  const auto second = run();
  std::atomic<int> tries{0};
  std::thread third([&] {
    queue->make([&](std::shared_ptr<void> lease) {
      ++tries;
      tries.notify_all();
      return card.take(std::move(lease));
    });
  });
  tries.wait(0);
  first.reset();
  third.join();
  EXPECT_EQ(card.most(), 2);
}

TEST(DeviceQueue, SaysThatThereIsNoRoomWhereNobodyElseHasAny) {
  const auto queue = std::make_shared<DeviceQueue>();
  const auto text = what_fails([&] {
    queue->make([](std::shared_ptr<void>) -> int { throw cuda::NoRoom("2 GB are too many"); });
  });
  EXPECT_TRUE(says(text, "out of memory on the device: 2 GB are too many")) << text;
  EXPECT_EQ(queue->make([](std::shared_ptr<void>) { return 7; }), 7);
}

}  // namespace
}  // namespace porter
