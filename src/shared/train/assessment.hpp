// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "porter/model/model.hpp"

namespace porter {

/// Of the records that the model calls a class, and of those that are of it.
struct ClassScores {
  std::size_t records = 0;          ///< that are of it
  std::optional<double> precision;  ///< right ones among those called so; nothing if none is
  std::optional<double> recall;     ///< right ones among those of it; nothing if there are none
  std::optional<double> f1;         ///< the harmonic mean of the two
};

/// Records to which the model gives about the same probability of the second class.
struct CalibrationBin {
  std::size_t records = 0;
  double predicted = 0;  ///< the mean of these probabilities
  double observed = 0;   ///< the share that is of the class
};

struct RocPoint {
  double false_positives = 0, true_positives = 0;  ///< as shares
};

/// How a model tells classes apart, on the records that count. Numbers of records are those of
/// records; shares and means have their weights, where they have some.
struct Assessment {
  std::size_t records = 0;
  std::vector<std::vector<std::size_t>> confusion;  ///< [class][predicted]
  std::vector<ClassScores> classes;

  // Of two classes only, and only where all probabilities are numbers:
  /// The chance that a record of the second class gets a higher probability than one of the first,
  /// ties counting half. Nothing where a class has no record.
  std::optional<double> auc;
  std::vector<RocPoint> roc;                ///< from (0, 0) to (1, 1), by falling threshold
  std::vector<CalibrationBin> calibration;  ///< ten of equal width, the empty ones left out
  std::optional<double> calibration_error;  ///< mean |predicted - observed| over records
};

/// `data` has classes.
Assessment assess(const Model& model, const Dataset& data, std::span<const double> x);

}  // namespace porter
