// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "porter/core/thread_pool.hpp"

namespace porter {

/// Zeros for large arrays: they start at a cache line, and where they are many at a huge page,
/// which the system is asked for (a round walks through all of it, and small pages cost more than
/// the values). Pages that nobody writes to take no memory.
void* allocate_pages(std::size_t bytes);
void free_pages(void* memory, std::size_t bytes);

template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class Other>
  PageAllocator(const PageAllocator<Other>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_pages(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { free_pages(p, n * sizeof(T)); }
  /// They are zeros already.
  void construct(T*) {}
  void construct(T* p, const T& value) { *p = value; }
  friend bool operator==(PageAllocator, PageAllocator) { return true; }
};

inline constexpr std::size_t kLineBytes = 64;  // of a cache

/// `size` rounded up to values that fill cache lines.
template <class Real>
constexpr std::size_t whole_lines(std::size_t size) {
  constexpr std::size_t kPerLine = kLineBytes / sizeof(Real);
  return (size + kPerLine - 1) / kPerLine * kPerLine;
}

/// A matrix with one row per agent; starts at zero, and rows that nobody writes to take no memory
/// (a process computes some agents only). Real is double or float. Every row starts at a
/// cache line, and rows are an odd number of lines apart: the same coordinates of all rows then do
/// not fight for the same places of a cache. Only short rows of many agents lie one right after the
/// other, because there the gaps are a tenth of the memory. One may read, not write, up to the end
/// of a row's last line.
template <class Real>
class BasicRows {
 public:
  BasicRows() = default;
  BasicRows(std::size_t agents, std::size_t dim)
      : agents_(agents),
        dim_(dim),
        stride_(stride_of(agents, dim)),
        values_(agents == 0 ? 0 : agents * stride_ + kPerLine - 1) {}

  std::size_t agents() const { return agents_; }
  std::size_t dim() const { return dim_; }

  std::span<Real> row(std::size_t agent) {
    assert(agent < agents_);
    return {values_.data() + agent * stride_, dim_};
  }
  std::span<const Real> row(std::size_t agent) const {
    assert(agent < agents_);
    return {values_.data() + agent * stride_, dim_};
  }
  /// From the start of a row to the start of the next.
  std::size_t stride() const { return stride_; }
  /// Row after row, without gaps.
  std::vector<double> flat() const {
    std::vector<double> values;
    values.reserve(agents_ * dim_);
    for (std::size_t i = 0; i < agents_; ++i)
      values.insert(values.end(), row(i).begin(), row(i).end());
    return values;
  }

  friend bool operator==(const BasicRows&, const BasicRows&) = default;

 private:
  static constexpr std::size_t kPerLine = kLineBytes / sizeof(Real);

  static std::size_t stride_of(std::size_t agents, std::size_t dim) {
    constexpr std::size_t kManyAgents = 1000, kShortBytes = 2048;
    if (agents >= kManyAgents && dim * sizeof(Real) < kShortBytes) return dim;
    return whole_lines<Real>(dim) | kPerLine;
  }

  std::size_t agents_ = 0, dim_ = 0, stride_ = kPerLine;
  std::vector<Real, PageAllocator<Real>> values_;
};
using Rows = BasicRows<double>;

/// Coordinates [first, first + size) of one agent's row: small enough that a few arrays of it stay
/// in the cache while one pass after another runs over them.
struct Tile {
  std::size_t agent, first, size;

  template <class Row>
  auto of(Row row) const {
    return row.subspan(first, size);
  }
};
inline constexpr std::size_t kTileSize = 2048;

/// Asks for values that will be changed soon, so that they travel to the cache during other work.
template <class Real>
void prefetch(std::span<Real> values) {
#if defined(__GNUC__)
  for (std::size_t i = 0; i < values.size(); i += kLineBytes / sizeof(Real))
    __builtin_prefetch(values.data() + i, 1, 2);  // to be written; the second level will do
#endif
}

/// Calls work(Tile) for all tiles of `agents` rows of length `dim`, on all threads. The same tile
/// of all rows comes before the next one: what one row reads of another's is then still in the
/// cache.
template <class Work>
void for_each_tile(ThreadPool& pool, std::size_t agents, std::size_t dim, const Work& work) {
  const std::size_t tiles = (dim + kTileSize - 1) / kTileSize;
  pool.parallel_for(agents * tiles, [&](std::size_t piece) {
    const std::size_t first = piece / agents * kTileSize;
    work(Tile{piece % agents, first, std::min(kTileSize, dim - first)});
  });
}

/// The same for the rows of the given agents.
template <class Work>
void for_each_tile(ThreadPool& pool, std::span<const std::uint32_t> agents, std::size_t dim,
                   const Work& work) {
  for_each_tile(pool, agents.size(), dim, [&](const Tile& tile) {
    work(Tile{agents[tile.agent], tile.first, tile.size});
  });
}

/// Calls work(agent) for each of the agents, on all threads.
template <class Work>
void for_each_agent(ThreadPool& pool, std::span<const std::uint32_t> agents, const Work& work) {
  pool.parallel_for(agents.size(), [&](std::size_t i) { work(std::size_t{agents[i]}); });
}

/// Every row a copy of `x`, rounded to Real.
template <class Real = double>
BasicRows<Real> repeat_row(std::span<const double> x, std::size_t agents);
/// The rows of the given agents only; those of others stay zero.
template <class Real = double>
BasicRows<Real> repeat_row(std::span<const double> x, std::size_t agents,
                           std::span<const std::uint32_t> which);

/// The mean of the rows, summed in double in ascending order of agent.
template <class Real>
std::vector<double> mean_row(const BasicRows<Real>& rows);

}  // namespace porter
