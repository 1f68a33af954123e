// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
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
  template <class Work>
  void parallel_for(std::size_t count, const Work& work) {
    if (workers_.empty() || count <= 1) {
      for (std::size_t i = 0; i < count; ++i) work(i);
    } else {
      run({[](const void* w, std::size_t i) { (*static_cast<const Work*>(w))(i); }, &work, count});
    }
  }

 private:
  struct Job {
    void (*call)(const void* work, std::size_t piece) = nullptr;
    const void* work = nullptr;
    std::size_t count = 0;
  };

  void run(Job job);
  void worker_loop();
  /// Takes pieces of the present job until none is left.
  void run_pieces();
  void run_piece(std::size_t piece);

  // The number of the job (high half) and how many of its pieces nobody has taken (low half). Who
  // takes a piece by lowering it knows that job_ stays as it is until that piece is done.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::size_t> left_{0};  // pieces not done
  Job job_;
  std::mutex error_mutex_;
  std::size_t error_piece_ = 0;
  std::exception_ptr error_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

/// Objects that are lent to one user at a time and kept for the next one. There are as many as were
/// out at once: one per thread, however many pieces of work the threads take.
template <class T>
class ScratchPool {
 public:
  struct GiveBack {
    ScratchPool* pool;
    void operator()(T* object) const { pool->give_back(std::unique_ptr<T>(object)); }
  };
  using Loan = std::unique_ptr<T, GiveBack>;

  /// The object as its last user left it, or a new one. From any thread.
  Loan take() { return Loan(take_free().release(), {this}); }

 private:
  std::unique_ptr<T> take_free() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto object = std::move(free_.back());
        free_.pop_back();
        return object;
      }
    }
    return std::make_unique<T>();
  }

  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace porter
