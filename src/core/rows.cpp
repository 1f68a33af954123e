// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rows.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "core/vector_math.hpp"

namespace porter {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21, kSmallPage = std::size_t{1} << 12;

std::size_t round_up(std::size_t bytes, std::size_t page) {
  return std::max((bytes + page - 1) / page, std::size_t{1}) * page;
}

void* allocate_lines(std::size_t bytes) {
  const std::size_t size = round_up(bytes, kLineBytes);
  void* memory = std::aligned_alloc(kLineBytes, size);
  if (memory == nullptr) throw std::bad_alloc();
  return std::memset(memory, 0, size);
}

#if defined(__linux__)
bool is_large(std::size_t bytes) { return bytes >= kHugePage; }

// Whole huge pages where that takes an eighth more at most; else the end lies in small ones.
std::size_t mapped_size(std::size_t bytes) {
  const std::size_t whole = round_up(bytes, kHugePage);
  return whole - bytes <= bytes / 8 ? whole : round_up(bytes, kSmallPage);
}

// One page more than is needed; what lies before the first huge page and behind the end goes back.
void* allocate_huge_pages(std::size_t bytes) {
  const std::size_t size = mapped_size(bytes);
  void* mapped = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(mapped);
  const std::size_t before =
      (kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage) % kHugePage;
  if (before > 0) munmap(start, before);
  munmap(start + before + size, kHugePage - before);
  madvise(start + before, size, MADV_HUGEPAGE);  // a wish; refusal costs speed only
  return start + before;
}
#endif

}  // namespace

void* allocate_pages(std::size_t bytes) {
#if defined(__linux__)
  if (is_large(bytes)) return allocate_huge_pages(bytes);
#endif
  return allocate_lines(bytes);
}

void free_pages(void* memory, std::size_t bytes) {
#if defined(__linux__)
  if (is_large(bytes)) {
    munmap(memory, mapped_size(bytes));
    return;
  }
#endif
  std::free(memory);
}

template <class Real>
BasicRows<Real> repeat_row(std::span<const double> x, std::size_t agents,
                           std::span<const std::uint32_t> which) {
  BasicRows<Real> rows(agents, x.size());
  for (const auto i : which)
    std::transform(x.begin(), x.end(), rows.row(i).begin(),
                   [](double value) { return static_cast<Real>(value); });
  return rows;
}
template BasicRows<double> repeat_row(std::span<const double>, std::size_t,
                                      std::span<const std::uint32_t>);
template BasicRows<float> repeat_row(std::span<const double>, std::size_t,
                                     std::span<const std::uint32_t>);

template <class Real>
BasicRows<Real> repeat_row(std::span<const double> x, std::size_t agents) {
  std::vector<std::uint32_t> all(agents);
  std::iota(all.begin(), all.end(), 0U);
  return repeat_row<Real>(x, agents, all);
}
template BasicRows<double> repeat_row(std::span<const double>, std::size_t);
template BasicRows<float> repeat_row(std::span<const double>, std::size_t);

template <class Real>
std::vector<double> mean_row(const BasicRows<Real>& rows) {
  std::vector<double> mean(rows.dim(), 0.0);
  for (std::size_t i = 0; i < rows.agents(); ++i) axpy(1.0, rows.row(i), mean);
  for (double& value : mean) value /= static_cast<double>(rows.agents());
  return mean;
}
template std::vector<double> mean_row(const BasicRows<double>&);
template std::vector<double> mean_row(const BasicRows<float>&);

}  // namespace porter
