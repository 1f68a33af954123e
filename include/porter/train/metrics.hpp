// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace porter {

/// One evaluation: a row of metrics.csv. x is the average iterate unless an agent is named.
struct MetricsRow {
  std::uint32_t round = 0;
  double loss = 0;          ///< f(x) over all training rows
  double grad_norm_sq = 0;  ///< |grad f(x)|^2
  double utility =
      0;  ///< running mean of grad_norm_sq over rounds 0..round (trapezoids between evaluations)
  std::optional<double> train_accuracy, test_accuracy, test_loss;
  double agent_loss_mean = 0,
         agent_loss_worst = 0;  ///< f(x_i), on an even sample of the training rows and of agents
  std::optional<double> agent_accuracy_mean, agent_accuracy_worst;  ///< of x_i, on the test rows
  double consensus_error = 0;            ///< mean over agents of |x_i - x|^2
  std::optional<double> tracking_error;  ///< |mean V - mean G|
  double bits_per_agent = 0;       ///< sent so far, a message to several neighbours counted once
  double link_bits_per_agent = 0;  ///< sent so far, every copy counted, and a server's answers
  std::optional<double> epsilon;   ///< certified so far; empty where nothing is certified
  std::optional<double> seconds;   ///< of training so far, evaluation not counted; modelled or
                                   ///< measured, and not kept by sweeps where it is measured
  /// Of a regression: root mean squared error and R2 (docs/architecture.md) of x on all training
  /// and test rows, and of x_i on the test rows.
  std::optional<double> train_rmse, train_r2, test_rmse, test_r2;
  std::optional<double> agent_rmse_mean, agent_rmse_worst, agent_r2_mean, agent_r2_worst;
  /// The same as without ema_, but of the moving averages of iterates that run.ema asks for.
  std::optional<double> ema_test_accuracy, ema_test_loss, ema_agent_accuracy_mean,
      ema_agent_accuracy_worst, ema_test_rmse, ema_agent_rmse_mean;
  bool raw = true;  ///< whether it has the figures of the training data; else their cells are empty
  bool diverged = false;  ///< the loss is not finite, or an agent is lost; no column
};

/// A column of metrics.csv: its name and where a row holds it.
struct MetricsColumn {
  const char* name;
  std::variant<std::uint32_t MetricsRow::*, double MetricsRow::*,
               std::optional<double> MetricsRow::*>
      field;
  bool raw = false;  ///< computed from the training data, which no noise covers

  /// Nothing for an empty cell.
  std::optional<double> get(const MetricsRow& row) const;
  void set(MetricsRow& row, std::optional<double> value) const;
  /// The cell: the shortest number that reads back exactly.
  std::string text(const MetricsRow& row) const;
};
const std::vector<MetricsColumn>& metrics_columns();

/// "round,loss,..." and one line per row; numbers in the shortest form that reads back exactly.
std::string metrics_header();
std::string metrics_line(const MetricsRow& row);

}  // namespace porter
