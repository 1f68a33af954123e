// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace porter {

/// One training point, a view into its data set. Dense: values[j] is feature j. Sparse: values[i]
/// is feature columns[i], columns ascending. `label` is the class number 0, 1, ... or, for
/// regression, the target.
struct Sample {
  bool sparse;
  std::span<const float> values;
  std::span<const std::uint32_t> columns;
  float label;
};

/// Rows of features with labels. Dense or compressed sparse rows, as the file was.
struct Dataset {
  std::size_t features = 0;
  std::vector<float> values;            ///< dense: rows x features; sparse: the non-zeros
  std::vector<std::uint32_t> columns;   ///< sparse only: the column of each value
  std::vector<std::size_t> row_starts;  ///< sparse only: rows + 1 offsets into values
  std::vector<float> labels;            ///< class numbers, or targets of a regression
  std::vector<double> classes;  ///< the file's label of each class number; empty for regression
  /// 1 for a record that counts for nothing: it keeps its place, its gradient is zero and no metric
  /// sees it. Rows behind the end count, so empty: all of them do.
  std::vector<std::uint8_t> voids = {};

  bool sparse() const { return !row_starts.empty(); }
  std::size_t rows() const { return labels.size(); }
  bool is_void(std::size_t row) const { return row < voids.size() && voids[row] != 0; }
  std::size_t void_rows() const;
  Sample operator[](std::size_t row) const;
  /// Asks for a row that will be read soon.
  void prefetch(std::size_t row) const;
};

/// The rows in the given order.
Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows);
/// The rows that count, where some do not.
std::optional<Dataset> counted_rows(const Dataset& data);

/// A training set and, where there is one, a test set with the same features and classes.
struct DataPair {
  Dataset train;
  std::optional<Dataset> test;
  std::string source;   ///< what it is and where it came from, for reports
  std::string warning;  ///< for their owner only: how many records count for nothing; or empty
};

}  // namespace porter
