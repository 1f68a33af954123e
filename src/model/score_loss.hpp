// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "layers.hpp"
#include "porter/model/model.hpp"
#include "residuals.hpp"

namespace porter {

/// The loss as a function of scores: softmax cross-entropy, or that of a regression whose
/// predictions they are. delta_L is its derivative by the scores.
class ScoreLoss {
 public:
  /// Of a regression; of classes nothing.
  explicit ScoreLoss(std::optional<LossKind> regression) : kind_(regression) {}
  bool is_regression() const { return kind_.has_value(); }

  /// Turns the scores of one sample into delta_L.
  template <class Real>
  void to_delta(std::span<const float> targets, std::span<Real> scores) const {
    if (kind_)
      predictions_to_slopes(*kind_, scores, targets);
    else
      scores_to_delta(scores, targets[0]);
  }

  /// Adds the losses and the hits or errors of at most kMaxRows samples, and turns their scores
  /// into delta_L.
  void add_totals(std::span<const float> targets, std::span<double> scores,
                  Model::Totals& totals) const;
  /// The same for one sample, with its weight; all that follows from delta_L carries it on.
  void add_weighted(double weight, std::span<const float> targets, std::span<double> scores,
                    Model::Totals& totals) const;

 private:
  std::optional<LossKind> kind_;
};

/// Model::evaluate without the regulariser, by a BatchPass or StackPass that takes `most` rows at a
/// time.
template <class Pass>
Model::Totals evaluate_blocks(Pass& pass, std::size_t most, const ScoreLoss& loss,
                              const Dataset& data, std::size_t first, std::size_t last,
                              std::span<double> gradient_sum) {
  const auto answers = [&](std::size_t row, std::size_t count) {
    return std::span(data.labels).subspan(row * data.outputs, count * data.outputs);
  };
  Model::Totals totals;
  for (std::size_t begin = first; begin < last; begin += most) {
    const auto rows = std::min(most, last - begin);
    pass.load(data, rows, [&](std::size_t i) { return begin + i; });
    if (data.weights.empty())
      loss.add_totals(answers(begin, rows), pass.scores(), totals);
    else
      for (std::size_t i = 0; i < rows; ++i)
        loss.add_weighted(data.weight(begin + i), answers(begin + i, 1), pass.scores(i), totals);
    if (gradient_sum.empty()) continue;
    pass.backward();
    pass.add_gradient(gradient_sum);
  }
  return totals;
}

}  // namespace porter
