// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "inputs.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// The scores x'f of many samples f at several points x, a block of samples at a time, and what
/// logistic regression makes of the margins t = y x'f, y = -1 for class 0 and +1 for class 1.
class ScorePass {
 public:
  ScorePass(std::span<const std::span<const double>> points, const Dataset& data);

  /// Computes the margins of rows [first, first + count) of the data, count <= kMaxRows.
  void load(std::size_t first, std::size_t count);

  /// Adds sum log(1 + exp(-t)) and the hits of the loaded rows for every point. A margin that is
  /// NaN makes the sum NaN, and is no hit; one of -infinity makes it infinite. A score of 0.0 or
  /// -0.0 is class 0.
  void add_totals(std::span<Model::Totals> totals);

  /// After add_totals: the derivative -y / (1 + exp(t)) of row i by the score of the first point.
  double slope(std::size_t i) const;

 private:
  std::size_t points_, width_;  // width: points, filled up to whole vectors
  const Dataset& data_;
  std::size_t first_ = 0;
  Inputs<double> inputs_;
  std::vector<double> transposed_, column_sums_;  // features x width; width
  std::vector<double> scores_;                    // rows x width
  std::vector<double> margins_, exps_;            // rows x points: t and exp(-|t|)
  std::vector<double> losses_, products_, hits_;  // points
};

}  // namespace porter
