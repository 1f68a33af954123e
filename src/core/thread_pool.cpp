// SPDX-License-Identifier: Apache-2.0
#include "porter/core/thread_pool.hpp"

#include <algorithm>
#include <utility>

namespace porter {

ThreadPool::ThreadPool(std::size_t threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_ready_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (workers_.empty() || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::unique_lock lock(mutex_);
  work_ = &work;
  next_ = 0;
  count_ = count;
  work_ready_.notify_all();
  run_pieces(lock);
  work_done_.wait(lock, [this] { return running_ == 0; });
  work_ = nullptr;
  count_ = next_ = 0;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::worker_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_ready_.wait(lock, [this] { return stopping_ || next_ < count_; });
    if (stopping_) return;
    run_pieces(lock);
    if (running_ == 0) work_done_.notify_one();
  }
}

void ThreadPool::run_pieces(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t piece = next_++;
    const auto& work = *work_;
    ++running_;
    lock.unlock();
    std::exception_ptr error;
    try {
      work(piece);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --running_;
    if (error && (!error_ || piece < error_index_)) {
      error_ = error;
      error_index_ = piece;
    }
  }
}

}  // namespace porter
