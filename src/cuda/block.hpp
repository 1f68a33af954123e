// SPDX-License-Identifier: Apache-2.0
// What a kernel sees. A kernel is a value with  void operator()(const Block&) const  that is made
// of steps: block.each(count, work) does work(0), ..., work(count - 1) on the threads of a block,
// in any order, and ends with a barrier; what lives from step to step is in the block's memory. So
// the same source runs on a GPU, compiled by nvcc, and on the host, as plain loops, where tests
// compare it with the library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.hpp"

namespace porter::cuda {

/// In which order the host does the work of a step. A result that depends on it is a race.
enum class Order { forward, backward, interleaved };

struct Block {
  std::uint32_t x, y;     ///< its place in the grid
  unsigned char* memory;  ///< of this block, not zero at the start
  Order order = Order::forward;

  template <class Work>
  PORTER_DEVICE void each(std::uint32_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
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
