// SPDX-License-Identifier: Apache-2.0
// What a kernel sees. A kernel is a value with  void operator()(const Block&) const  that is made
// of steps: block.each(count, work) does work(0), ..., work(count - 1) on the threads of a block,
// in any order, and ends with a barrier; what lives from step to step is in the block's memory. So
// the same source runs on a GPU, compiled by nvcc, and on the host, as plain loops, where tests
// compare it with the library.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/device.hpp"

/// In front of a function that is seldom called: no part of the code around the call, which a GPU
/// has little room for.
#if defined(__CUDACC__)
#define PORTER_RARE __noinline__
#else
#define PORTER_RARE
#endif

/// In front of a loop whose code shall stand there once, or as often as it runs.
#if defined(__CUDA_ARCH__)
#define PORTER_ROLLED _Pragma("unroll 1")
#define PORTER_UNROLLED _Pragma("unroll")
#else
#define PORTER_ROLLED
#define PORTER_UNROLLED
#endif

namespace porter::cuda {

/// In which order the host does the work of a step. A result that depends on it is a race.
enum class Order { forward, backward, interleaved };

/// A warp that goes its own way: as many steps as it likes, each the work of its lanes.
struct Warp {
  static constexpr std::uint32_t kLanes = 32;

  std::uint32_t index;  ///< in its block
  Order order = Order::forward;

  /// work(lane) on all lanes, then a barrier of the warp.
  template <class Work>
  PORTER_DEVICE void each(const Work& work) const;
};

struct Block {
  std::uint32_t x, y;     ///< its place in the grid
  unsigned char* memory;  ///< of this block, not zero at the start
  Order order = Order::forward;

  template <class Work>
  PORTER_DEVICE void each(std::uint32_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // the code of a kernel shall fit the cache for it
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) work(i);
    __syncthreads();
#else
    constexpr std::uint32_t kApart = 7;
    if (order == Order::forward)
      for (std::uint32_t i = 0; i < count; ++i) work(i);
    else if (order == Order::backward)
      for (std::uint32_t i = count; i > 0; --i) work(i - 1);
    else
      for (std::uint32_t first = 0; first < kApart; ++first)
        for (std::uint32_t i = first; i < count; i += kApart) work(i);
#endif
  }
  /// The same where a thread meets only what it wrote itself, or what its warp wrote in in_warps:
  /// no barrier.
  template <class Work>
  PORTER_DEVICE void alone(std::uint32_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) work(i);
#else
    each(count, work);
#endif
  }
  /// The same where a warp (kWarp neighbours of `count`, which is the number of threads) meets only
  /// memory of its own: a barrier for the warp.
  template <class Work>
  PORTER_DEVICE void in_warps(std::uint32_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x < count) work(threadIdx.x);
    __syncwarp();
#else
    each(count, work);
#endif
  }
  static constexpr std::uint32_t kWarp = Warp::kLanes;
  /// work(warp) on the warps of `threads`, which meet only memory of their own; no barrier.
  template <class Work>
  PORTER_DEVICE void warps(std::uint32_t threads, const Work& work) const {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x < threads) work(Warp{threadIdx.x / kWarp});
#else
    for (std::uint32_t w = 0; w < threads / kWarp; ++w) work(Warp{w, order});
#endif
  }

  /// `bytes`, a multiple of 16, to memory of the block, on their way while it goes on. What one
  /// commit() ends arrives together.
  PORTER_DEVICE void copy(void* to, const void* from, std::uint32_t bytes) const {
#if defined(__CUDA_ARCH__)
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
#pragma unroll 1
    for (std::uint32_t i = 16 * threadIdx.x; i < bytes; i += 16 * blockDim.x)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + i),
                   "l"(static_cast<const char*>(from) + i)
                   : "memory");
#else
    std::memcpy(to, from, bytes);
#endif
  }
  /// The same for at most kBytes, by kThreads threads.
  template <std::uint32_t kThreads, std::uint32_t kBytes>
  PORTER_DEVICE void copy_up_to(void* to, const void* from, std::uint32_t bytes) const {
    static_assert(kBytes % (16 * kThreads) == 0);
#if defined(__CUDA_ARCH__)
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to)) + 16 * threadIdx.x;
    const char* const source = static_cast<const char*>(from) + 16 * threadIdx.x;
#pragma unroll
    for (std::uint32_t i = 0; i < kBytes; i += 16 * kThreads)
      if (i + 16 * threadIdx.x < bytes)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + i), "l"(source + i)
                     : "memory");
#else
    std::memcpy(to, from, bytes);
#endif
  }
  /// 8 bytes, by the thread that calls it.
  template <class T>
  PORTER_DEVICE void copy_one(T* to, const T* from) const {
    static_assert(sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
  }
  /// `count` numbers, several of a thread on their way at once; no barrier.
  template <class To, class From>
  PORTER_DEVICE void load(To* to, const From* from, std::uint32_t count) const {
#if defined(__CUDA_ARCH__)
    constexpr std::uint32_t kAtOnce = 8;
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < count; i += kAtOnce * blockDim.x) {
      From some[kAtOnce];
#pragma unroll
      for (std::uint32_t n = 0; n < kAtOnce; ++n)
        if (i + n * blockDim.x < count) some[n] = from[i + n * blockDim.x];
#pragma unroll
      for (std::uint32_t n = 0; n < kAtOnce; ++n)
        if (i + n * blockDim.x < count) to[i + n * blockDim.x] = To{some[n]};
    }
#else
    for (std::uint32_t i = 0; i < count; ++i) to[i] = To{from[i]};
#endif
  }
  PORTER_DEVICE void commit() const {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  /// All copies but those of the last `left` commits are there; a barrier.
  template <int left>
  PORTER_DEVICE void arrive() const {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
    __syncthreads();
#endif
  }

  /// Kernels start while the one before them still runs: until this returns, what that one writes
  /// may not be touched. What was before it is through.
  PORTER_DEVICE void await_previous() const {
#if defined(__CUDA_ARCH__)
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  }
  /// The next kernel may start.
  PORTER_DEVICE void let_next_start() const {
#if defined(__CUDA_ARCH__)
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  }

  /// work() by one thread.
  template <class Work>
  PORTER_DEVICE void once(const Work& work) const {
    each(1, [&](std::uint32_t) { work(); });
  }

  template <class T>
  PORTER_DEVICE T* memory_as(std::size_t first_byte = 0) const {
    return reinterpret_cast<T*>(memory + first_byte);
  }
};

template <class Work>
PORTER_DEVICE void Warp::each(const Work& work) const {
#if defined(__CUDA_ARCH__)
  work(threadIdx.x % kLanes);
  __syncwarp();
#else
  Block{0, 0, nullptr, order}.each(kLanes, work);
#endif
}

/// A value of every thread of a block that lives from step to step: a register of a GPU.
template <class T, std::uint32_t kThreads>
class PerThread {
 public:
  PORTER_DEVICE T& operator[](std::uint32_t thread) {
#if defined(__CUDA_ARCH__)
    (void)thread;
    return value_;
#else
    return values_[thread];
#endif
  }

 private:
#if defined(__CUDA_ARCH__)
  T value_{};
#else
  T values_[kThreads] = {};
#endif
};

/// The same of the lanes of a warp.
template <class T>
using PerLane = PerThread<T, Warp::kLanes>;

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T at[2];
};
/// For what is not read again before much else was.
template <class T>
PORTER_DEVICE inline void store_passing(T* to, const Pair<T>& pair) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == sizeof(float))
    __stcs(reinterpret_cast<float2*>(to), float2{pair.at[0], pair.at[1]});
  else
    __stcs(reinterpret_cast<double2*>(to), double2{pair.at[0], pair.at[1]});
#else
  to[0] = pair.at[0];
  to[1] = pair.at[1];
#endif
}
template <class T>
PORTER_DEVICE inline Pair<T> load_pair(const T* from) {
  return *reinterpret_cast<const Pair<T>*>(from);
}

PORTER_DEVICE inline std::uint32_t ones(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(static_cast<int>(bits)));
#else
  return static_cast<std::uint32_t>(std::popcount(bits));
#endif
}
/// The place of the lowest bit of a number other than 0.
PORTER_DEVICE inline std::uint32_t lowest_one(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(bits)) - 1);
#else
  return static_cast<std::uint32_t>(std::countr_zero(bits));
#endif
}

/// What another block may have written.
PORTER_DEVICE inline double load_fresh(const double* from) {
#if defined(__CUDA_ARCH__)
  return __ldcg(from);
#else
  return *from;
#endif
}
/// What is written before is seen before, also by other blocks.
PORTER_DEVICE inline void fence() {
#if defined(__CUDA_ARCH__)
  __threadfence();
#endif
}

/// The old value, as the functions of CUDA give it.
PORTER_DEVICE inline std::uint32_t atomic_add(std::uint32_t* to, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(to, value);
#else
  const auto old = *to;
  *to = old + value;
  return old;
#endif
}
PORTER_DEVICE inline std::uint32_t atomic_or(std::uint32_t* to, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicOr(to, value);
#else
  const auto old = *to;
  *to = old | value;
  return old;
#endif
}
PORTER_DEVICE inline void atomic_min(std::uint32_t* to, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  atomicMin(to, value);
#else
  if (value < *to) *to = value;
#endif
}
PORTER_DEVICE inline std::uint32_t atomic_swap_if(std::uint32_t* to, std::uint32_t expected,
                                                  std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicCAS(to, expected, value);
#else
  const auto old = *to;
  if (old == expected) *to = value;
  return old;
#endif
}

/// The entries that a sum takes at once; its memory holds them and kSumLanes sums.
inline constexpr std::uint32_t kSumTile = 1024, kSumLanes = 8;
inline constexpr std::size_t kSumBytes = (kSumTile + kSumLanes) * sizeof(double);

/// sum of term(i) for i < size, over `lanes` partial sums that take turns: 8, added up as
/// vector_math does, or 1, a running sum. `memory` has room for kSumBytes; every thread gets it.
template <class Term>
PORTER_DEVICE double ordered_sum(const Block& block, double* memory, std::uint32_t lanes,
                                 std::uint32_t size, const Term& term) {
  double* const sums = memory + kSumTile;
  block.each(lanes, [&](std::uint32_t lane) { sums[lane] = 0; });
  for (std::uint32_t first = 0; first < size; first += kSumTile) {
    const std::uint32_t count = size - first < kSumTile ? size - first : kSumTile;
    block.each(count, [&](std::uint32_t i) { memory[i] = term(first + i); });
    block.each(lanes, [&](std::uint32_t lane) {
      double sum = sums[lane];
      for (std::uint32_t i = lane; i < count; i += lanes) sum += memory[i];
      sums[lane] = sum;
    });
  }
  if (lanes == kSumLanes)
    block.once([&] {
      sums[0] =
          ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    });
  const double sum = sums[0];
  block.each(0, [](std::uint32_t) {});  // all have read it before it is used again
  return sum;
}

}  // namespace porter::cuda
