// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "porter/core/thread_pool.hpp"

namespace porter {

/// Memory for large arrays: starts at a cache line, and where it is large at a huge page, which the
/// system is asked for (a round walks through all of it, and small pages cost more than the
/// values).
void* allocate_pages(std::size_t bytes);
void free_pages(void* memory);

template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class Other>
  PageAllocator(const PageAllocator<Other>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_pages(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { free_pages(p); }
  friend bool operator==(PageAllocator, PageAllocator) { return true; }
};

/// A matrix with one row per hosted agent, rows contiguous; starts at zero.
class Rows {
 public:
  Rows() = default;
  Rows(std::size_t agents, std::size_t dim)
      : agents_(agents), dim_(dim), values_(agents * dim, 0.0) {}

  std::size_t agents() const { return agents_; }
  std::size_t dim() const { return dim_; }

  std::span<double> row(std::size_t agent) {
    assert(agent < agents_);
    return {values_.data() + agent * dim_, dim_};
  }
  std::span<const double> row(std::size_t agent) const {
    assert(agent < agents_);
    return {values_.data() + agent * dim_, dim_};
  }
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

  friend bool operator==(const Rows&, const Rows&) = default;

 private:
  std::size_t agents_ = 0, dim_ = 0;
  std::vector<double, PageAllocator<double>> values_;
};

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

/// Calls work(Tile) for all tiles of `agents` rows of length `dim`, on all threads.
template <class Work>
void for_each_tile(ThreadPool& pool, std::size_t agents, std::size_t dim, const Work& work) {
  const std::size_t tiles = (dim + kTileSize - 1) / kTileSize;
  pool.parallel_for(agents * tiles, [&](std::size_t piece) {
    const std::size_t first = piece % tiles * kTileSize;
    work(Tile{piece / tiles, first, std::min(kTileSize, dim - first)});
  });
}

/// Every row a copy of `x`.
Rows repeat_row(std::span<const double> x, std::size_t agents);

/// The mean of the rows, summed in ascending order of agent.
std::vector<double> mean_row(const Rows& rows);

}  // namespace porter
