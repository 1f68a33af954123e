// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "porter/algo/gradients.hpp"
#include "porter/core/rows.hpp"
#include "porter/core/thread_pool.hpp"
#include "porter/train/metrics.hpp"

namespace porter {

/// How well numbers are predicted, over all rows and targets:
///   rmse = sqrt(mean (prediction - y)^2),   r2 = 1 - sum (prediction - y)^2 / sum (y - mean y)^2,
/// where each target has its own mean, that of the same rows; no r2 where all rows are alike. Here
/// and below, sums and means have the weights of the rows, where they have some.
struct Fit {
  double rmse = 0;
  std::optional<double> r2 = {};
};

/// Mean loss and accuracy of one point over the records of a data set that count, in a regression
/// the fit in place of the accuracy, and the mean gradient if asked for.
struct Evaluation {
  double loss = 0, accuracy = 0;
  std::optional<Fit> fit = {};
  std::vector<double> gradient = {};
};
Evaluation evaluate_point(const Model& model, const Dataset& data, std::span<const double> x,
                          bool with_gradient, ThreadPool& pool);

/// The share of the most frequent class.
double majority_rate(const Dataset& data);

/// Computes the metrics of the iterates. The average is measured on all rows. The agents' own
/// points (of more than 1000 agents: of an even sample of 1000) are measured on an even sample of
/// max(256, rows / agents) training rows, and on all test rows while they read at most twice as
/// many rows together as the training set has, or where that is cheap.
class Evaluator {
 public:
  Evaluator(const Problem& problem, const Dataset* test, ThreadPool& pool);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Fills loss, gradient, accuracies or fits, and consensus error of a row; the rest is left
  /// alone.
  void measure(const Rows& X, MetricsRow& row) const;

 private:
  void measure_agents(const Rows& X, MetricsRow& row) const;
  void measure_losses(std::span<const std::span<const double>> points, MetricsRow& row) const;
  void measure_accuracies(std::span<const std::span<const double>> points, MetricsRow& row) const;
  void measure_fits(std::span<const std::span<const double>> points, MetricsRow& row) const;

  Problem problem_;
  std::optional<Dataset> counted_train_, counted_test_;  // where some records do not count
  const Dataset& train_;
  const Dataset* test_;  // may be null
  ThreadPool& pool_;
  Dataset agent_train_, agent_test_;
};

}  // namespace porter
