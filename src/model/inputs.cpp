// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>

#include "core/find_unequal.hpp"
#include "core/vector_math.hpp"
#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr std::size_t kNarrow = 16;  // columns of C up to which S^T D is faster unsorted; measured

}  // namespace

template <class Real>
void Inputs<Real>::begin(const Dataset& data, std::size_t count) {
  features_ = data.features;
  dense_rows_.clear();
  background_.clear();
  starts_.assign(1, 0);
  if (!data.sparse()) make_room(count * features_);
}

template <class Real>
void Inputs<Real>::make_room(std::size_t entries) {
  if (columns_.size() >= entries) return;
  columns_.resize(entries);
  entries_.resize(entries);
}

// The first feature stands for the background: it is the corner of an image.
template <class Real>
void Inputs<Real>::add(const Sample& sample) {
  const std::size_t begin = starts_.back();
  std::size_t end = begin;
  float background = 0;
  if (sample.sparse) {
    end += sample.values.size();
    make_room(end);
    std::copy(sample.columns.begin(), sample.columns.end(), columns_.begin() + begin);
    std::copy(sample.values.begin(), sample.values.end(), entries_.begin() + begin);
  } else {
    background = sample.values[0];
    end += find_unequal(sample.values, background, columns_.data() + begin);
    for (std::size_t e = begin; e < end; ++e)
      entries_[e] = Real{sample.values[columns_[e]]} - Real{background};
    dense_rows_.push_back(sample.values.data());
  }
  starts_.push_back(static_cast<std::uint32_t>(end));
  background_.push_back(Real{background});
}

template <class Real>
double Inputs<Real>::squared_norm(std::size_t i) const {
  const std::size_t count = starts_[i + 1] - starts_[i];
  const double background{background_[i]};
  double sums[kPartialSums] = {};
  for (std::size_t e = 0; e < count; ++e) {
    const double value = double{entries_[starts_[i] + e]} + background;
    sums[e % kPartialSums] += value * value;
  }
  return add_up(sums) + static_cast<double>(features_ - count) * (background * background);
}

template <class Real>
void Inputs<Real>::finish() {
  dense_ = !dense_rows_.empty() && prefers_dense(starts_.back(), rows() * features_);
  if (!dense_) return;
  if (values_.size() < rows() * features_) values_.resize(rows() * features_);
  for (std::size_t i = 0; i < rows(); ++i)
    std::copy_n(dense_rows_[i], features_, values_.data() + i * features_);
}

template <class Real>
void Inputs<Real>::multiply(std::size_t n, const Real* b, std::span<const Real> column_sums,
                            Real* c) const {
  if (dense_) {
    std::fill_n(c, rows() * n, Real{0});
    return multiply_add<Real>(rows(), n, features_, {values_.data(), features_, 1}, b, n, c, n);
  }
  for (std::size_t i = 0; i < rows(); ++i)
    scaled_copy(background_[i], column_sums, std::span<Real>(c + i * n, n));
  multiply_add<Real>({starts_, columns_, entries_}, n, b, n, c, n);
}

template <class Real>
void Inputs<Real>::add_product(std::size_t n, const Real* b, std::span<const Real> column_sums,
                               Real* c) const {
  if (dense_)
    return multiply_add<Real>(rows(), n, features_, {values_.data(), features_, 1}, b, n, c, n);
  for (std::size_t i = 0; i < rows(); ++i)
    axpy(background_[i], column_sums, std::span<Real>(c + i * n, n));
  multiply_add<Real>({starts_, columns_, entries_}, n, b, n, c, n);
}

template <class Real>
void Inputs<Real>::clear(std::size_t i) {
  if (dense_)
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(i * features_), features_, Real{0});
  std::fill(entries_.begin() + starts_[i], entries_.begin() + starts_[i + 1], Real{0});
  background_[i] = 0;
}

template <class Real>
void Inputs<Real>::add_dense(std::size_t n, const Real* d, Real* g) const {
  multiply_add<Real>(n, features_, rows(), {d, 1, n}, values_.data(), features_, g, features_);
}

template <class Real>
void Inputs<Real>::add_sparse(std::size_t n, const Real* d, std::span<Real> u, Real* t) {
  for (std::size_t i = 0; i < rows(); ++i)
    axpy(background_[i], std::span<const Real>(d + i * n, n), u);
  if (n <= kNarrow)
    return multiply_add_transposed<Real>({starts_, columns_, entries_}, n, d, n, t, n);
  sort_by_column();
  multiply_add<Real>({column_starts_, column_rows_, column_entries_}, n, d, n, t, n);
}

template <class Real>
void Inputs<Real>::sort_by_column() {
  const std::size_t count = starts_.back();
  column_starts_.assign(features_ + 1, 0);
  if (column_rows_.size() < count) {
    column_rows_.resize(count);
    column_entries_.resize(count);
  }
  for (std::size_t e = 0; e < count; ++e) ++column_starts_[columns_[e] + 1];
  for (std::size_t j = 0; j < features_; ++j) column_starts_[j + 1] += column_starts_[j];
  next_ = column_starts_;
  for (std::size_t i = 0; i < rows(); ++i)
    for (std::size_t e = starts_[i]; e < starts_[i + 1]; ++e) {
      const auto to = next_[columns_[e]]++;
      column_rows_[to] = static_cast<std::uint32_t>(i);
      column_entries_[to] = entries_[e];
    }
}

template class Inputs<double>;
template class Inputs<float>;

}  // namespace porter
