// SPDX-License-Identifier: Apache-2.0
#include "small_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace porter {

SmallMatrix SmallMatrix::identity(std::size_t size) {
  SmallMatrix I(size, size);
  for (std::size_t i = 0; i < size; ++i) I(i, i) = 1;
  return I;
}

SmallMatrix SmallMatrix::transpose() const {
  SmallMatrix out(columns_, rows_);
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t j = 0; j < columns_; ++j) out(j, i) = (*this)(i, j);
  return out;
}

SmallMatrix SmallMatrix::operator*(const SmallMatrix& other) const {
  SmallMatrix out(rows_, other.columns_);
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t k = 0; k < columns_; ++k)
      for (std::size_t j = 0; j < other.columns_; ++j) out(i, j) += (*this)(i, k) * other(k, j);
  return out;
}

SmallMatrix SmallMatrix::inverse() const {
  auto A = *this, B = identity(rows_);
  for (std::size_t c = 0; c < rows_; ++c) {
    std::size_t pivot = c;
    for (std::size_t i = c; i < rows_; ++i)
      if (std::abs(A(i, c)) > std::abs(A(pivot, c))) pivot = i;
    for (auto* M : {&A, &B})
      for (std::size_t j = 0; j < rows_; ++j) std::swap((*M)(pivot, j), (*M)(c, j));
    const double head = A(c, c);
    for (auto* M : {&A, &B})
      for (std::size_t j = 0; j < rows_; ++j) (*M)(c, j) /= head;
    for (std::size_t i = 0; i < rows_; ++i) {
      const double factor = A(i, c);
      if (i == c || factor == 0) continue;
      for (auto* M : {&A, &B})
        for (std::size_t j = 0; j < rows_; ++j) (*M)(i, j) -= factor * (*M)(c, j);
    }
  }
  return B;
}

double SmallMatrix::trace() const {
  double sum = 0;
  for (std::size_t i = 0; i < rows_; ++i) sum += (*this)(i, i);
  return sum;
}

double SmallMatrix::largest_on_diagonal() const {
  double most = (*this)(0, 0);
  for (std::size_t i = 1; i < rows_; ++i) most = std::max(most, (*this)(i, i));
  return most;
}

double SmallMatrix::largest_singular_value() const {
  auto B = transpose() * *this;
  double log_eigenvalue = 0, share = 1;
  for (int squaring = 0; squaring < 50; ++squaring, share /= 2) {
    double squares = 0;
    for (const double value : B.values_) squares += value * value;
    const double norm = std::sqrt(squares);
    for (double& value : B.values_) value /= norm;
    log_eigenvalue += share * std::log(norm);
    B = B * B;
  }
  return std::exp(log_eigenvalue / 2);
}

void SmallMatrix::add_edge(std::size_t i, std::size_t j, double factor) {
  (*this)(i, i) += factor, (*this)(j, j) += factor;
  (*this)(i, j) -= factor, (*this)(j, i) -= factor;
}

}  // namespace porter
