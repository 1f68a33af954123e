// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rows.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <new>

#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

}  // namespace

void* allocate_pages(std::size_t bytes) {
  const std::size_t page = bytes < 2 * kHugePage ? kLineBytes : kHugePage;
  const std::size_t rounded = (bytes + page - 1) / page * page;
  void* memory = std::aligned_alloc(page, std::max(rounded, page));
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (page == kHugePage)
    madvise(memory, rounded, MADV_HUGEPAGE);  // a wish; refusal costs speed only
#endif
  return memory;
}

void free_pages(void* memory) { std::free(memory); }

template <class Real>
BasicRows<Real> repeat_row(std::span<const double> x, std::size_t agents) {
  BasicRows<Real> rows(agents, x.size());
  for (std::size_t i = 0; i < agents; ++i)
    std::transform(x.begin(), x.end(), rows.row(i).begin(),
                   [](double value) { return static_cast<Real>(value); });
  return rows;
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
