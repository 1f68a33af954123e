// SPDX-License-Identifier: Apache-2.0
#include "porter/core/thread_pool.hpp"

#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMostPieces = 0xFFFFFFFF;

constexpr std::uint64_t pack(std::size_t first, std::size_t last) {
  return (std::uint64_t{last} << 32) | first;
}
constexpr std::size_t first_of(std::uint64_t pieces) { return pieces & 0xFFFFFFFF; }
constexpr std::size_t last_of(std::uint64_t pieces) { return pieces >> 32; }

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

}  // namespace

ThreadPool::ThreadPool(std::size_t threads)
    : shares_(threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads) {
  try {
    for (std::size_t i = 1; i < shares_.size(); ++i)
      workers_.emplace_back([this, i] { worker_loop(i); });
  } catch (const std::exception&) {  // a limit on memory or on processes
    const auto started = 1 + workers_.size();
    stop();
    fail(ErrorKind::io, "expected to start ", shares_.size(), " threads (run.threads), but only ",
         started, " may run here");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping_ = true;
  job_number_.fetch_add(1, std::memory_order_release);
  job_number_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::run(Job job) {
  require(job.count < kMostPieces, ErrorKind::usage,
          "a thread pool runs fewer than 2^32 - 1 pieces, got ", job.count);
  job_ = job;
  left_.store(job.count, std::memory_order_relaxed);
  const std::size_t threads = shares_.size();
  for (std::size_t i = 0; i < threads; ++i)
    shares_[i].pieces.store(pack(i * job.count / threads, (i + 1) * job.count / threads),
                            std::memory_order_release);
  job_number_.fetch_add(1, std::memory_order_release);
  job_number_.notify_all();
  run_pieces(0);
  for (auto left = left_.load(std::memory_order_acquire); left != 0;
       left = left_.load(std::memory_order_acquire))
    wait_while(left_, left);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::worker_loop(std::size_t thread) {
  while (!stopping_) {
    const auto number = job_number_.load(std::memory_order_acquire);
    run_pieces(thread);
    if (!stopping_) wait_while(job_number_, number);
  }
}

void ThreadPool::run_pieces(std::size_t thread) {
  run_all(shares_[thread], true);
  for (std::size_t i = 1; i < shares_.size(); ++i)
    run_all(shares_[(thread + i) % shares_.size()], false);
}

// The owner takes a piece from the front; others a quarter of what is left from the back.
void ThreadPool::run_all(Share& share, bool own) {
  std::size_t done = 0;
  auto pieces = share.pieces.load(std::memory_order_relaxed);
  while (first_of(pieces) != last_of(pieces)) {
    const std::size_t first = first_of(pieces), last = last_of(pieces);
    const std::size_t taken = own ? 1 : (last - first + 3) / 4;
    const auto rest = own ? pack(first + 1, last) : pack(first, last - taken);
    if (!share.pieces.compare_exchange_weak(pieces, rest, std::memory_order_acq_rel)) continue;
    for (std::size_t i = 0; i < taken; ++i) run_piece((own ? first : last - taken) + i);
    done += taken;
    pieces = share.pieces.load(std::memory_order_relaxed);
  }
  if (done > 0 && left_.fetch_sub(done, std::memory_order_acq_rel) == done) left_.notify_one();
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

std::size_t thread_number() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace porter
