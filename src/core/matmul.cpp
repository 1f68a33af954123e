// SPDX-License-Identifier: Apache-2.0
#include "porter/core/matmul.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "porter/core/vectors.hpp"

namespace porter {
namespace {

// The tile of C that lives in registers, in vectors; measured on AVX-512 and AVX2.
template <std::size_t lanes>
struct Tile {
  static constexpr std::size_t kRows = lanes == 8 ? 8 : lanes == 4 ? 6 : 4;
  static constexpr std::size_t kVectors = lanes == 8 ? 1 : 2;
};

// One vector at a time: a copy of several would keep the array in memory.
template <std::size_t lanes, std::size_t vectors>
[[gnu::always_inline]] inline void load(typename Lanes<lanes>::Vector (&to)[vectors],
                                        const double* from) {
  for (std::size_t v = 0; v < vectors; ++v) std::memcpy(&to[v], from + v * lanes, sizeof to[v]);
}

template <std::size_t lanes, std::size_t vectors>
[[gnu::always_inline]] inline void store(double* to,
                                         const typename Lanes<lanes>::Vector (&from)[vectors]) {
  for (std::size_t v = 0; v < vectors; ++v) std::memcpy(to + v * lanes, &from[v], sizeof from[v]);
}

// `rows` rows of `vectors` whole vectors.
template <std::size_t lanes, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void tile(std::size_t k, StridedMatrix a, const double* b,
                                        std::size_t ldb, double* c, std::size_t ldc) {
  typename Lanes<lanes>::Vector sums[rows][vectors], row[vectors];
  for (std::size_t i = 0; i < rows; ++i) load<lanes>(sums[i], c + i * ldc);
  for (std::size_t p = 0; p < k; ++p) {
    load<lanes>(row, b + p * ldb);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t v = 0; v < vectors; ++v)
        sums[i][v] += a.data[i * a.row_stride + p * a.column_stride] * row[v];
  }
  for (std::size_t i = 0; i < rows; ++i) store<lanes>(c + i * ldc, sums[i]);
}

// All rows of C, `vectors` vectors of columns.
template <std::size_t lanes, std::size_t vectors>
[[gnu::always_inline]] inline void strip(std::size_t m, std::size_t k, StridedMatrix a,
                                         const double* b, std::size_t ldb, double* c,
                                         std::size_t ldc) {
  constexpr std::size_t kRows = Tile<lanes>::kRows;
  const auto from = [&](std::size_t i) PORTER_INLINE {
    return StridedMatrix{a.data + i * a.row_stride, a.row_stride, a.column_stride};
  };
  std::size_t i = 0;
  for (; i + kRows <= m; i += kRows)
    tile<lanes, kRows, vectors>(k, from(i), b, ldb, c + i * ldc, ldc);
  for (; i < m; ++i) tile<lanes, 1, vectors>(k, from(i), b, ldb, c + i * ldc, ldc);
}

// The columns that do not fill a vector: `rows` running sums of each column at a time.
template <std::size_t rows>
[[gnu::always_inline]] inline void narrow(std::size_t n, std::size_t k, StridedMatrix a,
                                          const double* b, std::size_t ldb, double* c,
                                          std::size_t ldc) {
  for (std::size_t j = 0; j < n; ++j) {
    double sums[rows];
    for (std::size_t i = 0; i < rows; ++i) sums[i] = c[i * ldc + j];
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t i = 0; i < rows; ++i)
        sums[i] += a.data[i * a.row_stride + p * a.column_stride] * b[p * ldb + j];
    for (std::size_t i = 0; i < rows; ++i) c[i * ldc + j] = sums[i];
  }
}

// One row of C in registers, `vectors` whole vectors.
template <std::size_t lanes, std::size_t vectors>
[[gnu::always_inline]] inline void sparse_row(const SparseMatrix& a, std::size_t row,
                                              const double* b, std::size_t ldb, double* c) {
  typename Lanes<lanes>::Vector sums[vectors], part;
  load<lanes>(sums, c);
  for (std::size_t e = a.starts[row]; e < a.starts[row + 1]; ++e) {
    const double* from = b + a.columns[e] * ldb;
    for (std::size_t v = 0; v < vectors; ++v) {
      std::memcpy(&part, from + v * lanes, sizeof part);
      sums[v] += a.values[e] * part;
    }
  }
  store<lanes>(c, sums);
}

[[gnu::always_inline]] inline void sparse_row_end(const SparseMatrix& a, std::size_t row,
                                                  std::size_t width, const double* b,
                                                  std::size_t ldb, double* c) {
  for (std::size_t e = a.starts[row]; e < a.starts[row + 1]; ++e)
    for (std::size_t j = 0; j < width; ++j) c[j] += a.values[e] * b[a.columns[e] * ldb + j];
}

// The products of `rows` rows with x, in the order of dot().
template <std::size_t lanes, std::size_t rows>
[[gnu::always_inline]] inline void dots(std::size_t n, const double* a, const double* x,
                                        double* y) {
  constexpr std::size_t kVectors = kPartialSums / lanes;
  typename Lanes<lanes>::Vector sums[rows][kVectors] = {}, part[kVectors], row[kVectors];
  std::size_t j = 0;
  for (; j + kPartialSums <= n; j += kPartialSums) {
    load<lanes>(part, x + j);
    for (std::size_t i = 0; i < rows; ++i) {
      load<lanes>(row, a + i * n + j);
      for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] += row[v] * part[v];
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    double partial[kPartialSums];
    store<lanes>(partial, sums[i]);
    for (std::size_t rest = j; rest < n; ++rest) partial[rest - j] += a[i * n + rest] * x[rest];
    y[i] = add_up(partial);
  }
}

// work(i, j) for all i < m, j < n, in blocks of eight by eight, which touch eight cache lines on
// either side; i runs fastest.
template <class Work>
void for_each_block(std::size_t m, std::size_t n, Work work) {
  constexpr std::size_t kBlock = 8;
  for (std::size_t i = 0; i < m; i += kBlock)
    for (std::size_t j = 0; j < n; j += kBlock)
      if (i + kBlock <= m && j + kBlock <= n) {
        for (std::size_t q = j; q < j + kBlock; ++q)
          for (std::size_t p = i; p < i + kBlock; ++p) work(p, q);
      } else {
        for (std::size_t q = j; q < std::min(j + kBlock, n); ++q)
          for (std::size_t p = i; p < std::min(i + kBlock, m); ++p) work(p, q);
      }
}

}  // namespace

void multiply_add(std::size_t m, std::size_t n, std::size_t k, StridedMatrix a, const double* b,
                  std::size_t ldb, double* c, std::size_t ldc) {
  with_vectors([=]<std::size_t lanes>() PORTER_INLINE {
    constexpr std::size_t kWide = Tile<lanes>::kVectors;
    std::size_t j = 0;
    for (; j + kWide * lanes <= n; j += kWide * lanes)
      strip<lanes, kWide>(m, k, a, b + j, ldb, c + j, ldc);
    for (; j + lanes <= n; j += lanes) strip<lanes, 1>(m, k, a, b + j, ldb, c + j, ldc);
    if (j == n) return;
    std::size_t i = 0;
    const auto from = [&] PORTER_INLINE {
      return StridedMatrix{a.data + i * a.row_stride, a.row_stride, a.column_stride};
    };
    for (; i + 8 <= m; i += 8) narrow<8>(n - j, k, from(), b + j, ldb, c + i * ldc + j, ldc);
    for (; i < m; ++i) narrow<1>(n - j, k, from(), b + j, ldb, c + i * ldc + j, ldc);
  });
}

void multiply_add(const SparseMatrix& a, std::size_t n, const double* b, std::size_t ldb, double* c,
                  std::size_t ldc) {
  with_vectors([=]<std::size_t lanes>() PORTER_INLINE {
    for (std::size_t row = 0; row < a.rows(); ++row) {
      double* to = c + row * ldc;
      std::size_t j = 0;
      for (; j + 8 * lanes <= n; j += 8 * lanes) sparse_row<lanes, 8>(a, row, b + j, ldb, to + j);
      for (; j + 2 * lanes <= n; j += 2 * lanes) sparse_row<lanes, 2>(a, row, b + j, ldb, to + j);
      for (; j + lanes <= n; j += lanes) sparse_row<lanes, 1>(a, row, b + j, ldb, to + j);
      if (j < n) sparse_row_end(a, row, n - j, b + j, ldb, to + j);
    }
  });
}

void multiply(std::size_t m, std::size_t n, const double* a, const double* x, double* y) {
  with_vectors([=]<std::size_t lanes>() PORTER_INLINE {
    constexpr std::size_t kRows = lanes == 8 ? 4 : 2;
    std::size_t i = 0;
    for (; i + kRows <= m; i += kRows) dots<lanes, kRows>(n, a + i * n, x, y + i);
    for (; i < m; ++i) dots<lanes, 1>(n, a + i * n, x, y + i);
  });
}

void outer_product(std::span<const double> u, std::span<const double> v, double* c) {
  with_vectors([=]<std::size_t>() PORTER_INLINE {
    double* row = c;
    for (const double factor : u) {
      for (std::size_t j = 0; j < v.size(); ++j) row[j] = factor * v[j];
      row += v.size();
    }
  });
}

void transpose(std::size_t m, std::size_t n, const double* a, std::size_t lda, double* b,
               std::size_t ldb) {
  for_each_block(
      m, n, [=](std::size_t i, std::size_t j) PORTER_INLINE { b[j * ldb + i] = a[i * lda + j]; });
}

void add_transposed(std::size_t m, std::size_t n, const double* a, std::span<const double> u,
                    double* b) {
  for_each_block(m, n, [=](std::size_t i, std::size_t j) PORTER_INLINE {
    b[j * m + i] += u[j] + a[i * n + j];
  });
}

}  // namespace porter
