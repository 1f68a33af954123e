// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace porter {

/// Products of matrices that somebody else owns, of double or float. Product and sum are rounded
/// apart and the order of the sums is fixed, so the bits are the same on every instruction set. NaN
/// and infinities go their way as in the plain loops, zeros keep their signs.

/// Element (i, j) at data[i * row_stride + j * column_stride].
template <class Real>
struct StridedMatrix {
  const Real* data;
  std::size_t row_stride, column_stride;
};

/// C += A B with A m x k, B k x n and C m x n; rows of B and C contiguous, `ldb` and `ldc` apart.
/// Every element of C is one running sum over k in ascending order, as in the plain triple loop.
template <class Real>
void multiply_add(std::size_t m, std::size_t n, std::size_t k, StridedMatrix<Real> a, const Real* b,
                  std::size_t ldb, Real* c, std::size_t ldc);

/// A matrix with few non-zeros: row i has values[e] in column columns[e] for e from starts[i] up to
/// starts[i + 1].
template <class Real>
struct SparseMatrix {
  std::span<const std::uint32_t> starts, columns;
  std::span<const Real> values;
  std::size_t rows() const { return starts.size() - 1; }
};

/// C += A B with A sparse and C A.rows() x n; otherwise as above, the sums over the non-zeros of a
/// row in their order.
template <class Real>
void multiply_add(const SparseMatrix<Real>& a, std::size_t n, const Real* b, std::size_t ldb,
                  Real* c, std::size_t ldc);

/// C += A^T B with A sparse, B A.rows() x n and C with n columns; the sums over the rows of A in
/// ascending order, as multiply_add of the transpose has them.
template <class Real>
void multiply_add_transposed(const SparseMatrix<Real>& a, std::size_t n, const Real* b,
                             std::size_t ldb, Real* c, std::size_t ldc);

/// y_i = dot(row i of A, x) for the m rows of n numbers that lie one after the other at A, computed
/// in double.
template <class Real>
void multiply(std::size_t m, std::size_t n, const Real* a, const double* x, double* y);

/// C = u v^T, rows one after the other.
void outer_product(std::span<const double> u, std::span<const double> v, double* c);

/// The n x m transpose of an m x n matrix; rows `lda` and `ldb` apart.
template <class Real>
void transpose(std::size_t m, std::size_t n, const Real* a, std::size_t lda, Real* b,
               std::size_t ldb);

/// B += u 1^T + A^T with A m x n and B n x m, rows one after the other.
template <class Real>
void add_transposed(std::size_t m, std::size_t n, const Real* a,
                    std::span<const std::type_identity_t<Real>> u, Real* b);

}  // namespace porter
