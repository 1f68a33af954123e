// SPDX-License-Identifier: Apache-2.0
#include "core/matmul.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/vectors.hpp"

namespace porter {
namespace {

// The tile of C that lives in registers, in vectors; measured on AVX-512 and AVX2.
template <std::size_t lanes>
struct RegisterTile {
  static constexpr std::size_t kRows = lanes == 8 ? 8 : lanes == 4 ? 6 : 4;
  static constexpr std::size_t kVectors = lanes == 8 ? 1 : 2;
};

// One vector at a time: a copy of several would keep the array in memory.
template <class Vector, std::size_t vectors, class Real>
PORTER_INLINE inline void load(Vector (&to)[vectors], const Real* from) {
  for (std::size_t v = 0; v < vectors; ++v)
    std::memcpy(&to[v], from + v * (sizeof(Vector) / sizeof(Real)), sizeof(Vector));
}

template <class Vector, std::size_t vectors, class Real>
PORTER_INLINE inline void store(Real* to, const Vector (&from)[vectors]) {
  for (std::size_t v = 0; v < vectors; ++v)
    std::memcpy(to + v * (sizeof(Vector) / sizeof(Real)), &from[v], sizeof(Vector));
}

// `rows` rows of `vectors` vectors of `size` numbers.
template <std::size_t size, std::size_t rows, std::size_t vectors, class Real>
PORTER_INLINE inline void tile(std::size_t k, StridedMatrix<Real> a, const Real* b, std::size_t ldb,
                               Real* c, std::size_t ldc) {
  Register<Real, size> sums[rows][vectors], row[vectors];
  for (std::size_t i = 0; i < rows; ++i) load(sums[i], c + i * ldc);
  for (std::size_t p = 0; p < k; ++p) {
    load(row, b + p * ldb);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t v = 0; v < vectors; ++v)
        sums[i][v] += a.data[i * a.row_stride + p * a.column_stride] * row[v];
  }
  for (std::size_t i = 0; i < rows; ++i) store(c + i * ldc, sums[i]);
}

// All rows of C, `vectors` vectors of columns.
template <std::size_t size, std::size_t block, std::size_t vectors, class Real>
PORTER_INLINE inline void strip(std::size_t m, std::size_t k, StridedMatrix<Real> a, const Real* b,
                                std::size_t ldb, Real* c, std::size_t ldc) {
  const auto from = [&](std::size_t i) PORTER_INLINE {
    return StridedMatrix<Real>{a.data + i * a.row_stride, a.row_stride, a.column_stride};
  };
  std::size_t i = 0;
  for (; i + block <= m; i += block)
    tile<size, block, vectors>(k, from(i), b, ldb, c + i * ldc, ldc);
  for (; i < m; ++i) tile<size, 1, vectors>(k, from(i), b, ldb, c + i * ldc, ldc);
}

// The columns that do not fill a vector: `rows` running sums of each column at a time.
template <std::size_t rows, class Real>
PORTER_INLINE inline void narrow(std::size_t n, std::size_t k, StridedMatrix<Real> a, const Real* b,
                                 std::size_t ldb, Real* c, std::size_t ldc) {
  for (std::size_t j = 0; j < n; ++j) {
    Real sums[rows];
    for (std::size_t i = 0; i < rows; ++i) sums[i] = c[i * ldc + j];
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t i = 0; i < rows; ++i)
        sums[i] += a.data[i * a.row_stride + p * a.column_stride] * b[p * ldb + j];
    for (std::size_t i = 0; i < rows; ++i) c[i * ldc + j] = sums[i];
  }
}

// strip<size, vectors>(first, last) for strips of the n >= size columns: at most `most` vectors of
// `size` columns, the last of which begins at first + last. What is left after a strip is nothing
// or fills a vector, so that the last one has columns to share.
template <std::size_t size, std::size_t most, class Strip>
PORTER_INLINE inline void in_strips(std::size_t n, const Strip& strip) {
  static_assert(most == 2 || most == 4);
  for (std::size_t j = 0; j < n;) {
    const std::size_t left = n - j;
    const std::size_t columns = left >= (most + 1) * size ? most * size
                                : left > most * size      ? most / 2 * size
                                                          : left;
    // Each number of vectors stands here once: it is a copy of the kernel.
    if (columns <= size) strip.template operator()<size, 1>(j, columns - size);
    if (columns > size && columns <= 2 * size)
      strip.template operator()<size, 2>(j, columns - size);
    if constexpr (most == 4) {
      if (columns > 2 * size && columns <= 3 * size)
        strip.template operator()<size, 3>(j, columns - size);
      if (columns > 3 * size) strip.template operator()<size, 4>(j, columns - size);
    }
    j += columns;
  }
}

// The same with the widest registers of at most `size` numbers that n columns fill; narrower ones
// are taken where two are enough.
template <std::size_t size, std::size_t most = 4, class Strip>
PORTER_INLINE inline void in_filled_strips(std::size_t n, const Strip& strip) {
  if (n >= size) return in_strips<size, most>(n, strip);
  if constexpr (size > 1) in_filled_strips<size / 2, 2>(n, strip);
}

// Vector v of a row of C begins at column v * size, the last at `last`: it ends where the row does.
// Columns that the last two share are the same sum twice, so either may be stored first.
template <std::size_t size, std::size_t vectors>
PORTER_INLINE inline std::size_t begin_of(std::size_t v, std::size_t last) {
  return v + 1 == vectors ? last : v * size;
}

// `rows` rows of C, `vectors` vectors of each, in registers. A sum waits for the one before it, so
// several rows take turns as long as all have entries left.
template <std::size_t size, std::size_t vectors, std::size_t rows, class Real>
PORTER_INLINE inline void sparse_rows(const SparseMatrix<Real>& a, std::size_t first, const Real* b,
                                      std::size_t ldb, Real* c, std::size_t ldc, std::size_t last) {
  using Vector = Register<Real, size>;
  const auto at = [=](std::size_t v) PORTER_INLINE { return begin_of<size, vectors>(v, last); };
  Vector sums[rows][vectors];
  std::size_t common = a.starts[first + 1] - a.starts[first];
  for (std::size_t i = 0; i < rows; ++i) {
    common = std::min<std::size_t>(common, a.starts[first + i + 1] - a.starts[first + i]);
    for (std::size_t v = 0; v < vectors; ++v)
      std::memcpy(&sums[i][v], c + i * ldc + at(v), sizeof(Vector));
  }
  const auto add = [&](std::size_t i, std::size_t e) PORTER_INLINE {
    const Real* from = b + a.columns[e] * ldb;
    for (std::size_t v = 0; v < vectors; ++v) {
      Vector part;
      std::memcpy(&part, from + at(v), sizeof part);
      sums[i][v] += a.values[e] * part;
    }
  };
  for (std::size_t e = 0; e < common; ++e)
    for (std::size_t i = 0; i < rows; ++i) add(i, a.starts[first + i] + e);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t e = a.starts[first + i] + common; e < a.starts[first + i + 1]; ++e) add(i, e);
    for (std::size_t v = 0; v < vectors; ++v)
      std::memcpy(c + i * ldc + at(v), &sums[i][v], sizeof(Vector));
  }
}

// All rows of C, `vectors` vectors of columns.
template <std::size_t size, std::size_t vectors, class Real>
PORTER_INLINE inline void sparse_strip(const SparseMatrix<Real>& a, const Real* b, std::size_t ldb,
                                       Real* c, std::size_t ldc, std::size_t last) {
  constexpr std::size_t kRows = vectors < 3 ? 4 : 2;
  std::size_t row = 0;
  for (; row + kRows <= a.rows(); row += kRows)
    sparse_rows<size, vectors, kRows>(a, row, b, ldb, c + row * ldc, ldc, last);
  for (; row < a.rows(); ++row)
    sparse_rows<size, vectors, 1>(a, row, b, ldb, c + row * ldc, ldc, last);
}

// `vectors` vectors of the columns of C += A^T B: each row of B is in registers while the rows of C
// that its entries name are read and written. All of a row is read before it is written, as the
// last two vectors share columns.
template <std::size_t size, std::size_t vectors, class Real>
PORTER_INLINE inline void scatter_strip(const SparseMatrix<Real>& a, const Real* b, std::size_t ldb,
                                        Real* c, std::size_t ldc, std::size_t last) {
  using Vector = Register<Real, size>;
  const auto at = [=](std::size_t v) PORTER_INLINE { return begin_of<size, vectors>(v, last); };
  for (std::size_t i = 0; i < a.rows(); ++i) {
    Vector row[vectors], sums[vectors];
    for (std::size_t v = 0; v < vectors; ++v)
      std::memcpy(&row[v], b + i * ldb + at(v), sizeof(Vector));
    for (std::size_t e = a.starts[i]; e < a.starts[i + 1]; ++e) {
      Real* to = c + a.columns[e] * ldc;
      for (std::size_t v = 0; v < vectors; ++v) std::memcpy(&sums[v], to + at(v), sizeof(Vector));
      for (std::size_t v = 0; v < vectors; ++v) sums[v] += a.values[e] * row[v];
      for (std::size_t v = 0; v < vectors; ++v) std::memcpy(to + at(v), &sums[v], sizeof(Vector));
    }
  }
}

// The products of `rows` rows with x, in the order of dot().
template <std::size_t lanes, std::size_t rows, class Real>
PORTER_INLINE inline void dots(std::size_t n, const Real* a, const double* x, double* y) {
  constexpr std::size_t kVectors = kPartialSums / lanes;
  Register<double, lanes> sums[rows][kVectors] = {}, part[kVectors];
  Register<Real, lanes> row[kVectors];
  std::size_t j = 0;
  for (; j + kPartialSums <= n; j += kPartialSums) {
    load(part, x + j);
    for (std::size_t i = 0; i < rows; ++i) {
      load(row, a + i * n + j);
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[i][v] += __builtin_convertvector(row[v], Register<double, lanes>) * part[v];
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    double partial[kPartialSums];
    store(partial, sums[i]);
    for (std::size_t rest = j; rest < n; ++rest)
      partial[rest - j] += double{a[i * n + rest]} * x[rest];
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

template <class Real>
void multiply_add(std::size_t m, std::size_t n, std::size_t k, StridedMatrix<Real> a, const Real* b,
                  std::size_t ldb, Real* c, std::size_t ldc) {
  if (m == 0 || k == 0) return;  // then b or c may be null
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    constexpr std::size_t kRows = RegisterTile<lanes>::kRows,
                          kVectors = RegisterTile<lanes>::kVectors;
    constexpr std::size_t kSize = lanes * sizeof(double) / sizeof(Real), kHalf = kSize / 2;
    std::size_t j = 0;
    for (; j + kVectors * kSize <= n; j += kVectors * kSize)
      strip<kSize, kRows, kVectors>(m, k, a, b + j, ldb, c + j, ldc);
    for (; j + kSize <= n; j += kSize) strip<kSize, kRows, 1>(m, k, a, b + j, ldb, c + j, ldc);
    if constexpr (kHalf >= 4)
      if (j + kHalf <= n) {
        strip<kHalf, kRows, 1>(m, k, a, b + j, ldb, c + j, ldc);
        j += kHalf;
      }
    if (j == n) return;
    std::size_t i = 0;
    const auto from = [&]() PORTER_INLINE {
      return StridedMatrix<Real>{a.data + i * a.row_stride, a.row_stride, a.column_stride};
    };
    for (; i + 8 <= m; i += 8) narrow<8>(n - j, k, from(), b + j, ldb, c + i * ldc + j, ldc);
    for (; i < m; ++i) narrow<1>(n - j, k, from(), b + j, ldb, c + i * ldc + j, ldc);
  });
}

template <class Real>
void multiply_add(const SparseMatrix<Real>& a, std::size_t n, const Real* b, std::size_t ldb,
                  Real* c, std::size_t ldc) {
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    constexpr std::size_t kSize = lanes * sizeof(double) / sizeof(Real);
    in_filled_strips<kSize>(
        n, [=]<std::size_t size, std::size_t vectors>(std::size_t j, std::size_t last)
               PORTER_INLINE { sparse_strip<size, vectors>(a, b + j, ldb, c + j, ldc, last); });
  });
}

template <class Real>
void multiply_add_transposed(const SparseMatrix<Real>& a, std::size_t n, const Real* b,
                             std::size_t ldb, Real* c, std::size_t ldc) {
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    constexpr std::size_t kSize = lanes * sizeof(double) / sizeof(Real);
    in_filled_strips<kSize>(
        n, [=]<std::size_t size, std::size_t vectors>(std::size_t j, std::size_t last)
               PORTER_INLINE { scatter_strip<size, vectors>(a, b + j, ldb, c + j, ldc, last); });
  });
}

template <class Real>
void multiply(std::size_t m, std::size_t n, const Real* a, const double* x, double* y) {
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    constexpr std::size_t kRows = lanes == 8 ? 4 : 2;
    std::size_t i = 0;
    for (; i + kRows <= m; i += kRows) dots<lanes, kRows>(n, a + i * n, x, y + i);
    for (; i < m; ++i) dots<lanes, 1>(n, a + i * n, x, y + i);
  });
}

void outer_product(std::span<const double> u, std::span<const double> v, double* c) {
  with_vectors([=]<Width>() PORTER_INLINE {
    double* row = c;
    for (const double factor : u) {
      for (std::size_t j = 0; j < v.size(); ++j) row[j] = factor * v[j];
      row += v.size();
    }
  });
}

template <class Real>
void transpose(std::size_t m, std::size_t n, const Real* a, std::size_t lda, Real* b,
               std::size_t ldb) {
  for_each_block(
      m, n, [=](std::size_t i, std::size_t j) PORTER_INLINE { b[j * ldb + i] = a[i * lda + j]; });
}

template <class Real>
void add_transposed(std::size_t m, std::size_t n, const Real* a,
                    std::span<const std::type_identity_t<Real>> u, Real* b) {
  for_each_block(m, n, [=](std::size_t i, std::size_t j) PORTER_INLINE {
    b[j * m + i] += u[j] + a[i * n + j];
  });
}

#define PORTER_PRODUCTS_OF(Real)                                                                   \
  template void multiply_add(std::size_t, std::size_t, std::size_t, StridedMatrix<Real>,           \
                             const Real*, std::size_t, Real*, std::size_t);                        \
  template void multiply_add(const SparseMatrix<Real>&, std::size_t, const Real*, std::size_t,     \
                             Real*, std::size_t);                                                  \
  template void multiply(std::size_t, std::size_t, const Real*, const double*, double*);           \
  template void multiply_add_transposed(const SparseMatrix<Real>&, std::size_t, const Real*,       \
                                        std::size_t, Real*, std::size_t);                          \
  template void transpose(std::size_t, std::size_t, const Real*, std::size_t, Real*, std::size_t); \
  template void add_transposed(std::size_t, std::size_t, const Real*, std::span<const Real>, Real*)
PORTER_PRODUCTS_OF(double);
PORTER_PRODUCTS_OF(float);
#undef PORTER_PRODUCTS_OF

}  // namespace porter
