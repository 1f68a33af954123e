// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "porter/comm/mpi.hpp"

namespace porter {

/// Error{network} with MPI's text unless the call succeeded.
void require_mpi(int code, const char* call);
/// Whether a request, if there is one, is done.
bool is_complete(MPI_Request& request);

// Waiting for MPI: first polite spinning, for messages that are nearly here, then short naps, so
// that ranks which share a core let each other work.
class Pause {
 public:
  void operator()() {
    if (++turns_ < 200)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  int turns_ = 0;
};

/// Signs of life around the ring of ranks, and the news that a rank gave up. One thread sends and
/// listens, whatever the main thread computes; a stopped process stops both. Then the next rank in
/// the ring misses the signs and ends the job.
class ControlChannel {
 public:
  /// The number of a transport that stands for all: nothing goes on after such news.
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};

  explicit ControlChannel(MpiOptions options);
  ~ControlChannel();

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// The transport with the next number begins, from 1 on; news about older ones is history.
  std::uint64_t next_generation();
  /// Tells all ranks, this one included, that transport `generation` is over. The first news
  /// counts.
  void announce(std::uint64_t generation, const std::string& text) noexcept;
  /// Error{network} if a rank gave up.
  void check();
  /// Polls; no call of MPI blocks, so that the news is seen.
  template <class Ready>
  void wait_until(const Ready& ready) {
    for (Pause pause; !ready(); pause()) check();
  }
  /// Waits for all ranks of the communicator.
  void meet(MPI_Comm comm);
  /// Ends the thread: from here on nobody misses this rank's signs.
  void stop_listening();

 private:
  // Always this many bytes.
  struct Notice {
    std::uint64_t generation = 0;  // 0: a sign of life
    char text[504] = {};
  };

  void learn_hosts();
  void listen();
  bool take_notices(MPI_Request& receive);
  [[noreturn]] void end_job();
  int before() const { return (rank_ + size_ - 1) % size_; }
  int after() const { return (rank_ + 1) % size_; }

  const MpiOptions options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::uint64_t generation_ = 0;
  Notice news_;  // of the newest generation
  std::atomic<bool> has_news_{false};
  // MPI may touch these until it has ended.
  Notice incoming_, sign_;
  std::vector<std::unique_ptr<Notice>> outbox_;
  std::thread thread_;
};

}  // namespace porter
