// SPDX-License-Identifier: Apache-2.0
// A trained model as arithmetic and tables: what every format writes down in its own words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "porter/model/saved_model.hpp"

namespace porter {

/// W a + b; W is outputs x inputs, row-major.
struct AffineLayer {
  std::size_t inputs = 0, outputs = 0;
  std::vector<double> weights, biases;
};

enum class Answer {
  one_score,  ///< of the second of two classes: p = 1 / (1 + exp(-score))
  scores,     ///< of each class: softmax
  numbers,    ///< the scores are predictions
};

struct FlatModel {
  std::vector<AffineLayer> layers = {};  ///< an activation between two
  Activation activation = {};
  Answer answer = Answer::scores;
  std::size_t features = 0;  ///< of the table; the column of ones is in the biases
  /// What predictions are to be scaled back by, one for each target.
  std::vector<double> target_means = {}, target_deviations = {};
};

/// Error{usage} if it has no features; errors of SavedModel::parameters.
FlatModel flatten(const SavedModel& saved, const std::string& which);

/// A column that is used and where its features begin.
struct ColumnCode {
  static constexpr std::int64_t kRefused = -1;

  Column column;
  std::size_t feature = 0, width = 0;
  /// Of a category: which of its features a text stands for, or kRefused; texts that mean "missing"
  /// are among them. `otherwise`: all other texts; `missing`: where there is none.
  std::map<std::string, std::int64_t> texts = {};
  std::int64_t otherwise = kRefused, missing = kRefused;

  /// A number becomes (x - shift) / divisor.
  double shift() const;
  double divisor() const;
};
std::vector<ColumnCode> column_codes(const Schema& schema);

/// One line for people: model, what it predicts, who made it.
std::string description(const ModelCard& card);

}  // namespace porter
