// SPDX-License-Identifier: Apache-2.0
#include "porter/core/thread_pool.hpp"

#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kUntaken = 0xFFFFFFFF;  // the half of a ticket that counts pieces

// A round is a few hundred microseconds long and asks for the threads several times, so a thread
// looks for work for about as long as it takes to fall asleep and be woken before it does so.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `value` is not `old`.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

// Also for a pool that could not start all of its threads.
void stop(std::atomic<bool>& stopping, std::atomic<std::uint64_t>& ticket,
          std::vector<std::thread>& workers) {
  stopping = true;
  ticket = ((ticket >> 32) + 1) << 32;  // a job without pieces wakes everybody
  ticket.notify_all();
  for (auto& worker : workers) worker.join();
}

}  // namespace

ThreadPool::ThreadPool(std::size_t threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  try {
    for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
  } catch (const std::exception&) {  // a limit on memory or on processes
    const auto started = 1 + workers_.size();
    stop(stopping_, ticket_, workers_);
    fail(ErrorKind::io, "expected to start ", threads, " threads (run.threads), but only ", started,
         " may run here");
  }
}

ThreadPool::~ThreadPool() { stop(stopping_, ticket_, workers_); }

void ThreadPool::run(Job job) {
  require(job.count < kUntaken, ErrorKind::usage,
          "a thread pool runs fewer than 2^32 - 1 pieces, got ", job.count);
  job_ = job;
  left_.store(job.count, std::memory_order_relaxed);
  const auto number = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store((number << 32) | job.count, std::memory_order_release);
  ticket_.notify_all();
  run_pieces();
  for (auto left = left_.load(std::memory_order_acquire); left != 0;
       left = left_.load(std::memory_order_acquire))
    wait_while(left_, left);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::worker_loop() {
  while (!stopping_) {
    run_pieces();
    const auto ticket = ticket_.load(std::memory_order_acquire);
    if ((ticket & kUntaken) == 0 && !stopping_) wait_while(ticket_, ticket);
  }
}

void ThreadPool::run_pieces() {
  auto ticket = ticket_.load(std::memory_order_acquire);
  while ((ticket & kUntaken) != 0) {
    if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
    run_piece(job_.count - (ticket & kUntaken));
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadPool::run_piece(std::size_t piece) {
  try {
    job_.call(job_.work, piece);
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_ || piece < error_piece_) {
      error_ = std::current_exception();
      error_piece_ = piece;
    }
  }
}

}  // namespace porter
