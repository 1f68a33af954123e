// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/matmul.hpp"
#include "porter/data/dataset.hpp"

namespace porter {

/// The samples of a block of BatchPass and ScorePass at most.
inline constexpr std::size_t kMaxRows = 128;

/// Whether the dense product is the faster one, with so many entries of `all` off the background.
inline bool prefers_dense(std::size_t entries, std::size_t all) {
  return static_cast<double>(entries) > 0.4 * static_cast<double>(all);  // measured
}

/// Some samples as the matrix A of inputs, one row each. Where most entries of a row are
/// one value (a sparse data set; the background of images, scaled or not), only the others are
/// kept,
///   A = background 1^T + S,   S sparse,
/// and a product costs a fraction of the dense one: 81 % of MNIST is background.
template <class Real>
class Inputs {
 public:
  /// Takes the samples data[row_of(i)], i < count.
  template <class RowOf>
  void assign(const Dataset& data, std::size_t count, RowOf row_of) {
    begin(data, count);
    for (std::size_t i = 0; i < count; ++i) add(data[row_of(i)]);
    finish();
  }

  std::size_t rows() const { return background_.size(); }
  /// |row i|^2
  double squared_norm(std::size_t i) const;

  /// C = A B, with B features x n and its column sums given.
  void multiply(std::size_t n, const Real* b, std::span<const Real> column_sums, Real* c) const;

  /// The same added to C.
  void add_product(std::size_t n, const Real* b, std::span<const Real> column_sums, Real* c) const;

  /// Makes row i zero: 0 times what it holds may not be 0.
  void clear(std::size_t i);

  bool dense() const { return dense_; }
  /// Dense: G += D^T A, with D rows x n and G n x features.
  void add_dense(std::size_t n, const Real* d, Real* g) const;
  /// Otherwise the parts of  D^T A = u 1^T + T^T:  u += D^T background, T += S^T D.
  void add_sparse(std::size_t n, const Real* d, std::span<Real> u, Real* t);

 private:
  void begin(const Dataset& data, std::size_t count);
  void make_room(std::size_t entries);
  void add(const Sample& sample);
  void finish();
  void sort_by_column();

  std::size_t features_ = 0;
  bool dense_ = false;
  std::vector<const float*> dense_rows_;  // the samples as they are; empty for sparse data
  std::vector<Real> values_;              // dense: rows x features
  std::vector<Real> background_;
  std::vector<std::uint32_t> starts_, columns_;  // S by rows
  std::vector<Real> entries_;
  std::vector<std::uint32_t> column_starts_, next_, column_rows_;  // S by columns
  std::vector<Real> column_entries_;
};

}  // namespace porter
