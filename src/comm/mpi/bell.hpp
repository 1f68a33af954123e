// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace porter {

/// Wakes a rank that waits for messages of ranks of its machine; it lies in memory that they share.
/// Ranks that take turns on a core sleep until the last message is on its way, where polling for it
/// costs the core's time. Even and odd steps are counted apart, as a neighbour is at most one step
/// ahead. It only says when looking is worth while: what has come, MPI knows.
class Bell {
 public:
  /// A message of a step is on its way.
  void ring(std::uint64_t step) {
    auto& count = counts_[step % 2];
    if (count.rung.fetch_add(1) + 1 == count.wanted.load())
      ::syscall(SYS_futex, &count.rung, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  /// Until as many have been rung for even, or for odd, steps since the start, by its own rank
  /// alone. look() from time to time; it may throw.
  template <class Look>
  void wait(std::uint64_t step, std::uint32_t wanted, const Look& look) {
    constexpr timespec kBetweenLooks{0, 5'000'000};
    auto& count = counts_[step % 2];
    count.wanted = wanted;  // before the count is read: who rings does it the other way round
    for (auto rung = count.rung.load(); static_cast<std::int32_t>(rung - wanted) < 0;
         rung = count.rung.load()) {
      look();
      ::syscall(SYS_futex, &count.rung, FUTEX_WAIT, rung, &kBetweenLooks, nullptr, 0);
    }
  }

 private:
  struct Count {
    std::atomic<std::uint32_t> rung{0}, wanted{0};
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  std::array<Count, 2> counts_;
};

}  // namespace porter
