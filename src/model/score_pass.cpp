// SPDX-License-Identifier: Apache-2.0
#include "score_pass.hpp"

#include <algorithm>
#include <cmath>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"
#include "core/vectors.hpp"

namespace porter {

ScorePass::ScorePass(std::span<const std::span<const double>> points, const Dataset& data)
    : points_(points.size()), width_((points.size() + 7) / 8 * 8), data_(data) {
  transposed_.assign(data.features * width_, 0.0);
  column_sums_.assign(width_, 0.0);
  for (std::size_t p = 0; p < points_; ++p)
    for (std::size_t j = 0; j < data.features; ++j) {
      transposed_[j * width_ + p] = points[p][j];
      column_sums_[p] += points[p][j];
    }
  scores_.resize(kMaxRows * width_);
  margins_.resize(kMaxRows * points_);
  exps_.resize(margins_.size());
}

void ScorePass::load(std::size_t first, std::size_t count) {
  first_ = first;
  inputs_.assign(data_, count, [&](std::size_t i) { return first + i; });
  inputs_.multiply(width_, transposed_.data(), column_sums_, scores_.data());
}

// log(1 + exp(-t)) = max(0, -t) + log(1 + exp(-|t|)), and the sum of these logarithms is that of a
// product, at most 2^kMaxRows. A score of exactly 0 is class 0.
void ScorePass::add_totals(std::span<Model::Totals> totals) {
  losses_.assign(points_, 0.0);
  products_.assign(points_, 1.0);
  hits_.assign(points_, 0.0);
  const std::size_t rows = inputs_.rows();
  with_vectors([=, this, points = points_, t = margins_.data(), e = exps_.data(),
                losses = losses_.data(), hits = hits_.data()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < rows; ++i) {
      const bool positive = data_.labels[first_ + i] > 0;
      const double y = positive ? 1 : -1, at_zero = positive ? 0 : 1;
      const double* scores = scores_.data() + i * width_;
      for (std::size_t p = 0; p < points; ++p) {
        const double margin = y * scores[p];
        t[i * points + p] = margin;
        e[i * points + p] = margin > 0 ? -margin : margin;
        losses[p] += margin < 0 ? -margin : 0.0;
        hits[p] += margin > 0 ? 1 : margin == 0 ? at_zero : 0;
      }
    }
  });
  exp_in_place(std::span(exps_).first(rows * points_));
  with_vectors([=, points = points_, e = exps_.data(), products = products_.data()]<Width>()
                   PORTER_INLINE {
                     for (std::size_t i = 0; i < rows; ++i)
                       for (std::size_t p = 0; p < points; ++p)
                         products[p] *= 1 + e[i * points + p];
                   });
  for (std::size_t p = 0; p < points_; ++p) {
    totals[p].loss += losses_[p] + std::log(products_[p]);
    totals[p].correct += hits_[p];
  }
}

double ScorePass::slope(std::size_t i) const {
  const double t = margins_[i * points_], e = exps_[i * points_];
  const double y = data_.labels[first_ + i] > 0 ? 1 : -1;
  return -y * (t > 0 ? e : 1.0) / (1 + e);
}

}  // namespace porter
