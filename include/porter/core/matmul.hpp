// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace porter {

/// A matrix that somebody else owns: element (i, j) at data[i * row_stride + j * column_stride].
struct StridedMatrix {
  const double* data;
  std::size_t row_stride, column_stride;
};

/// C += A B with A m x k, B k x n and C m x n; rows of B and C contiguous, `ldb` and `ldc` apart.
/// Every element of C is one running sum over k in ascending order, product and sum rounded apart,
/// so the bits are those of the plain triple loop on every instruction set.
void multiply_add(std::size_t m, std::size_t n, std::size_t k, StridedMatrix a, const double* b,
                  std::size_t ldb, double* c, std::size_t ldc);

}  // namespace porter
