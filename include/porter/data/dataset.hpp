// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace porter {

/// One training point, a view into its data set. Dense: values[j] is feature j. Sparse: values[i]
/// is feature columns[i], columns ascending. `label` is the class number 0, 1, ... or, for
/// regression, the target; where there are several, the first of `targets`.
struct Sample {
  bool sparse;
  std::span<const float> values;
  std::span<const std::uint32_t> columns;
  float label;
  std::span<const float> targets = {};
  float weight = 1;  ///< what its loss is multiplied by, of Dataset::weights
};

/// Rows of features with labels. Dense or compressed sparse rows, as the file was.
struct Dataset {
  std::size_t features = 0;
  std::vector<float> values;            ///< dense: rows x features; sparse: the non-zeros
  std::vector<std::uint32_t> columns;   ///< sparse only: the column of each value
  std::vector<std::size_t> row_starts;  ///< sparse only: rows + 1 offsets into values
  std::vector<float> labels;         ///< class numbers, or targets of a regression: rows x outputs
  std::vector<std::string> classes;  ///< the file's label of each class; empty for regression
  /// 1 for a record that counts for nothing: it keeps its place, its gradient is zero and no metric
  /// sees it. Rows behind the end count, so empty: all of them do.
  std::vector<std::uint8_t> voids = {};
  /// What the loss of each row is multiplied by, before anything is clipped: in [0, 1], a file's
  /// weights divided by the largest that is allowed. Empty: 1 for all.
  std::vector<float> weights = {};
  std::size_t outputs = 1;  ///< targets of a row; 1 for classes
  /// Dense rows that are read where they lie, in somebody else's memory: where each begins, and
  /// what keeps them there. `values` is empty then.
  std::vector<const float*> lent_rows = {};
  std::vector<std::shared_ptr<const void>> keepers = {};

  bool sparse() const { return !row_starts.empty(); }
  std::size_t rows() const { return labels.size() / outputs; }
  /// How many numbers a model computes from a row: one for each class, or for each target.
  std::size_t scores() const { return classes.empty() ? outputs : classes.size(); }
  /// The targets of a row; of classes the number of its class.
  std::span<const float> targets(std::size_t row) const {
    return {labels.data() + row * outputs, outputs};
  }
  bool is_void(std::size_t row) const { return row < voids.size() && voids[row] != 0; }
  std::size_t void_rows() const;
  double weight(std::size_t row) const { return weights.empty() ? 1 : double{weights[row]}; }
  /// The sum over rows [first, last), and over those that count.
  double weight_of(std::size_t first, std::size_t last) const;
  double counted_weight() const;
  /// How many numbers are stored, zeros of sparse rows not among them.
  std::size_t entries() const { return sparse() ? values.size() : rows() * features; }
  Sample operator[](std::size_t row) const;
  /// Asks for a row that will be read soon; and, before that, for what says where it is.
  void prefetch(std::size_t row) const;
  void prefetch_place(std::size_t row) const;
};

/// All features of a record, those that are not stored included.
void write_features(const Sample& sample, std::span<float> out);
/// The rows in the given order.
Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows);
/// Dense rows in memory that all selections of them share.
Dataset lend_rows(Dataset data);
/// Rows of its own in place of lent ones, so that they can be changed.
void own_rows(Dataset& data);
/// The rows that count, where some do not.
std::optional<Dataset> counted_rows(const Dataset& data);

}  // namespace porter
