// SPDX-License-Identifier: Apache-2.0
#include "score_loss.hpp"

#include <array>
#include <cassert>
#include <cmath>

#include "core/vector_math.hpp"
#include "inputs.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// For each sample what softmax_in_place does, but the exponentials of all at once.
void add_cross_entropy(std::span<const float> labels, std::span<double> scores,
                       Model::Totals& totals) {
  assert(labels.size() <= kMaxRows);
  const std::size_t classes = scores.size() / labels.size();
  std::array<double, kMaxRows> tops, of_labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = scores.subspan(i * classes, classes);
    const std::size_t top = argmax(row), label = static_cast<std::size_t>(labels[i]);
    totals.correct += top == label;
    tops[i] = row[top];
    of_labels[i] = row[label];
    for (double& s : row) s -= tops[i];
  }
  exp_in_place(scores);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = scores.subspan(i * classes, classes);
    double sum = 0;
    for (const double s : row) sum += s;
    for (double& s : row) s /= sum;
    totals.loss += tops[i] + std::log(sum) - of_labels[i];
    row[static_cast<std::size_t>(labels[i])] -= 1;
  }
}

}  // namespace

void ScoreLoss::add_totals(std::span<const float> targets, std::span<double> scores,
                           Model::Totals& totals) const {
  if (!kind_) return add_cross_entropy(targets, scores, totals);
  add_residuals(*kind_, scores, targets, totals);
  predictions_to_slopes(*kind_, scores, targets);
}

void ScoreLoss::add_weighted(double weight, std::span<const float> targets,
                             std::span<double> scores, Model::Totals& totals) const {
  Model::Totals one;
  add_totals(targets, scores, one);
  totals.add(one, weight);
  for (double& value : scores) value *= weight;
}

}  // namespace porter
