// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

inline constexpr std::size_t kPoolLine = 64;  // bytes that threads do not share when they write

/// Runs independent pieces of work on a fixed set of threads. Which thread runs which piece is left
/// open, so a piece must write only what belongs to it; then results do not depend on the threads.
/// Pieces that follow each other go to one thread, and the same to the same thread when a job comes
/// again, so that it finds in its caches what it left there; who is done early helps others.
class ThreadPool {  // NOLINT(clang-analyzer-optin.performance.Padding): it keeps threads apart
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

  // Pieces that nobody has taken, from the first (low half) up to the last (high half). Who takes
  // some by changing it knows that job_ stays as it is until these are done, and may be late: then
  // they are those of the next job.
  struct alignas(kPoolLine) Share {
    std::atomic<std::uint64_t> pieces{0};
  };

  void run(Job job);
  void worker_loop(std::size_t thread);
  /// Runs pieces of the present job until none is left: the thread's own, then those of others.
  void run_pieces(std::size_t thread);
  void run_all(Share& share, bool own);
  void run_piece(std::size_t piece);
  void stop();

  // Each where no other is written.
  alignas(kPoolLine) std::atomic<std::uint32_t> job_number_{0};
  alignas(kPoolLine) std::atomic<std::size_t> left_{0};  // pieces not done
  alignas(kPoolLine) Job job_;
  std::vector<Share> shares_;  // per thread; the caller is the first
  std::mutex error_mutex_;
  std::size_t error_piece_ = 0;
  std::exception_ptr error_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

/// A small number of its own for every thread.
std::size_t thread_number();

/// Objects that are lent to one user at a time and kept for the next one, best for the same thread,
/// which then waits for no other. There are as many as were out at once, and at most one more per
/// thread: however many pieces of work the threads take.
template <class T>
class ScratchPool {
 public:
  struct GiveBack {
    ScratchPool* pool;
    void operator()(T* object) const { pool->give_back(std::unique_ptr<T>(object)); }
  };
  using Loan = std::unique_ptr<T, GiveBack>;

  ScratchPool() = default;
  ~ScratchPool() {
    for (auto& place : places_) delete place.object.load(std::memory_order_acquire);
  }
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;

  /// The object as its last user left it, or a new one. From any thread.
  Loan take() { return Loan(take_free().release(), {this}); }

 private:
  struct alignas(kPoolLine) Place {
    std::atomic<T*> object{nullptr};
  };

  std::atomic<T*>& own_place() { return places_[thread_number() % places_.size()].object; }

  std::unique_ptr<T> take_free() {
    if (auto* own = own_place().exchange(nullptr, std::memory_order_acq_rel))
      return std::unique_ptr<T>(own);
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
    T* none = nullptr;
    if (own_place().compare_exchange_strong(none, object.get(), std::memory_order_acq_rel)) {
      object.release();
      return;
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(object));
  }

  std::array<Place, 64> places_;  // of threads
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;  // of threads that share a place
};

}  // namespace porter
