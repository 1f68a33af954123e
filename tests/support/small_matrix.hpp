// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace porter {

/// A few rows and columns in plain loops: independent of the solvers that the library calls, and
/// compiled in no time.
class SmallMatrix {
 public:
  SmallMatrix(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), values_(rows * columns) {}
  SmallMatrix(std::size_t rows, std::size_t columns, std::vector<double> values)
      : rows_(rows), columns_(columns), values_(std::move(values)) {}
  static SmallMatrix identity(std::size_t size);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  double& operator()(std::size_t i, std::size_t j) { return values_[i * columns_ + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values_[i * columns_ + j]; }

  SmallMatrix transpose() const;
  SmallMatrix operator*(const SmallMatrix& other) const;
  /// Gauss and Jordan, with the largest pivots.
  SmallMatrix inverse() const;
  double trace() const;
  double largest_on_diagonal() const;
  /// By squaring A'A again and again: its norm becomes the power of the largest eigenvalue.
  double largest_singular_value() const;
  /// + factor (e_i - e_j)(e_i - e_j)'
  void add_edge(std::size_t i, std::size_t j, double factor);

 private:
  std::size_t rows_, columns_;
  std::vector<double> values_;
};

}  // namespace porter
