// SPDX-License-Identifier: Apache-2.0
// What porter eval found, as text, as JSON and as a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/assessment.hpp"
#include "train/evaluator.hpp"

namespace porter::cli {

/// What is so and what the model says.
struct TargetPoint {
  double label = 0, prediction = 0;
};

struct EvalResult {
  std::string model, which, data;
  std::size_t rows = 0;
  Evaluation evaluation;
  std::vector<std::string> classes;     ///< empty: a regression
  std::optional<double> majority_rate;  ///< this and the next: of classes
  std::optional<Assessment> assessment;
  /// Of a regression: an even sample of the rows, a list for each target.
  std::vector<std::vector<TargetPoint>> targets = {};
};

std::string eval_text(const EvalResult& result);
std::string eval_json(const EvalResult& result);
/// One HTML file that needs nothing else.
std::string eval_page(const EvalResult& result);

}  // namespace porter::cli
