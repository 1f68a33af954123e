// SPDX-License-Identifier: Apache-2.0
#include "porter/core/matmul.hpp"

#include <algorithm>
#include <cstring>

#include "porter/core/vector_clones.hpp"

namespace porter {
namespace {

constexpr std::size_t kRows = 6, kColumns = 8;  // one tile of C lives in registers

// Eight doubles; the compiler maps it to whatever registers the clone below may use.
typedef double Vector __attribute__((vector_size(8 * sizeof(double))));

template <std::size_t rows>
[[gnu::always_inline]] inline void tile(std::size_t k, StridedMatrix a, const double* b,
                                        std::size_t ldb, double* c, std::size_t ldc) {
  Vector sums[rows];
  for (std::size_t i = 0; i < rows; ++i) std::memcpy(&sums[i], c + i * ldc, sizeof(Vector));
  for (std::size_t p = 0; p < k; ++p) {
    Vector row;
    std::memcpy(&row, b + p * ldb, sizeof row);
    for (std::size_t i = 0; i < rows; ++i)
      sums[i] += a.data[i * a.row_stride + p * a.column_stride] * row;
  }
  for (std::size_t i = 0; i < rows; ++i) std::memcpy(c + i * ldc, &sums[i], sizeof(Vector));
}

// The columns that do not fill a vector.
void narrow(std::size_t m, std::size_t n, std::size_t k, StridedMatrix a, const double* b,
            std::size_t ldb, double* c, std::size_t ldc) {
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = c[i * ldc + j];
      for (std::size_t p = 0; p < k; ++p)
        sum += a.data[i * a.row_stride + p * a.column_stride] * b[p * ldb + j];
      c[i * ldc + j] = sum;
    }
}

}  // namespace

PORTER_VECTOR_CLONES
void multiply_add(std::size_t m, std::size_t n, std::size_t k, StridedMatrix a, const double* b,
                  std::size_t ldb, double* c, std::size_t ldc) {
  const std::size_t whole = n / kColumns * kColumns;
  for (std::size_t j = 0; j < whole; j += kColumns) {
    std::size_t i = 0;
    for (; i + kRows <= m; i += kRows)
      tile<kRows>(k, {a.data + i * a.row_stride, a.row_stride, a.column_stride}, b + j, ldb,
                  c + i * ldc + j, ldc);
    for (; i < m; ++i)
      tile<1>(k, {a.data + i * a.row_stride, a.row_stride, a.column_stride}, b + j, ldb,
              c + i * ldc + j, ldc);
  }
  narrow(m, n - whole, k, a, b + whole, ldb, c + whole, ldc);
}

}  // namespace porter
