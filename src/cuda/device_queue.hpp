// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "device.hpp"

namespace porter {

/// Runs of one process that share a device: one that finds no room waits until another has ended.
class DeviceQueue : public std::enable_shared_from_this<DeviceQueue> {
 public:
  /// What make(lease) gives. The run has ended when nobody holds its lease any more. Where it was a
  /// NoRoom: once more, after another run has ended; the error, where none is left.
  template <class Make>
  auto make(const Make& make) {
    const std::lock_guard turn(turn_);  // the room that one has found is not taken by another
    for (;;) {
      const auto seen = ended();
      const auto lease = std::make_shared<Lease>(shared_from_this());
      try {
        auto made = make(std::shared_ptr<void>(lease));
        lease->begin();
        return made;
      } catch (const cuda::NoRoom&) {
        if (!wait_for_end(seen)) throw;
      }
    }
  }

 private:
  class Lease {
   public:
    explicit Lease(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)) {}
    ~Lease() {
      if (begun_) queue_->count(-1);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    void begin() {
      queue_->count(+1);
      begun_ = true;
    }

   private:
    std::shared_ptr<DeviceQueue> queue_;
    bool begun_ = false;
  };

  void count(int more) {
    const std::lock_guard lock(mutex_);
    running_ += more;
    if (more < 0) ++ended_;
    changed_.notify_all();
  }
  std::uint64_t ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  bool wait_for_end(std::uint64_t seen) {
    std::unique_lock lock(mutex_);
    if (running_ == 0 && ended_ == seen) return false;
    changed_.wait(lock, [&] { return ended_ != seen; });
    return true;
  }

  std::mutex turn_, mutex_;  // the second guards the counts
  std::condition_variable changed_;
  int running_ = 0;
  std::uint64_t ended_ = 0;
};

}  // namespace porter
