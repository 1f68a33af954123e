// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace porter {

/// Runs independent pieces of work on a fixed set of threads. Which thread runs which piece is left
/// open, so a piece must write only what belongs to it; then results do not depend on the threads.
class ThreadPool {
 public:
  /// `threads` = 0: one per core. The calling thread is one of them.
  explicit ThreadPool(std::size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const { return workers_.size() + 1; }

  /// Calls work(i) once for each i < count and returns when all are done. Of several exceptions
  /// the one with the smallest i is rethrown. Not reentrant: work must not call back into the pool.
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void worker_loop();
  void run_pieces(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable work_ready_, work_done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t next_ = 0, count_ = 0, running_ = 0;
  std::size_t error_index_ = 0;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace porter
