// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "porter/core/choice.hpp"
#include "porter/data/dataset.hpp"

namespace porter {

/// How rows are given to agents:
///   shuffled      at random
///   contiguous    in the order of the file
///   by-label      sorted by class, stable
///   dirichlet:A   class proportions of each agent drawn from the Dirichlet(A) law
struct Split {
  enum class Kind { shuffled, contiguous, by_label, dirichlet };
  Kind kind = Kind::shuffled;
  double alpha = 0;  ///< of dirichlet

  /// Whether a row's label decides who holds it.
  bool by_labels() const { return kind == Kind::by_label || kind == Kind::dirichlet; }
};
/// Error{usage} unless it is one of the above.
Split parse_split(std::string_view text);
std::string to_string(const Split& split);

/// The rows of `data` in an order such that agent i holds the i-th run of m = floor(rows / agents)
/// rows; the at most agents - 1 rows left over belong to nobody and are not in it, so its size is
/// agents * m. Error{usage} for more agents than rows.
std::vector<std::uint32_t> partition_rows(const Dataset& data, std::size_t agents,
                                          const Split& split, std::uint64_t seed);

/// How features are scaled, measured on the training set.
enum class FeatureScale { none, spectral, standard, unit };
template <>
struct Choices<FeatureScale> {
  static constexpr Choice<FeatureScale> table[] = {{"none", FeatureScale::none},
                                                   {"spectral", FeatureScale::spectral},
                                                   {"standard", FeatureScale::standard},
                                                   {"unit", FeatureScale::unit}};
};
/// Whether the scale of a row depends on other rows.
constexpr bool is_measured(FeatureScale scale) {
  return scale == FeatureScale::spectral || scale == FeatureScale::standard;
}

/// The [data] section of a config.
struct DataOptions {
  std::string name =
      "synthetic";  ///< a known data set; ignored when `train` (or train_images) is given
  std::string train = {}, test = {};  ///< files: libsvm text, csv, npz; gzip transparently
  std::string train_images = {}, train_labels = {};  ///< IDX files
  std::string test_images = {}, test_labels = {};
  /// Feature columns without the bias, stated; 0: as many as the training file has.
  std::size_t features = 0;
  /// The labels as the file writes them, stated: classes[i] becomes class number i. Empty: those of
  /// the training file, ascending.
  std::vector<double> classes = {};
  FeatureScale scale = FeatureScale::none;
  std::string outliers =
      "none";  ///< none | FRACTION:FACTOR: so many training rows times the factor, at last
  bool plants_outliers() const { return outliers != "none"; }
  bool bias = true;         ///< append a column of ones, last
  bool regression = false;  ///< labels are targets, not classes
  /// What is learned from the rows comes with a guarantee, so nothing but a record's own gradient
  /// may depend on it. Files need `features` and `classes` (a known data set has its own), no scale
  /// is measured, nothing is cached, and a record that does not fit stays in its place and counts
  /// for nothing: Dataset::voids.
  bool guarantee = false;
  bool cache = true;  ///< a parsed copy of large files may be kept in the user's cache
};

/// More labels than this are targets of a regression, not classes.
inline constexpr std::size_t kMaxClasses = 1000;

/// Reads or generates, maps labels to class numbers, scales, appends the bias column, plants
/// outliers. Errors name the file, the line, what was expected and what was found. A path that is
/// no regular file is refused before it is opened.
DataPair load_data(const DataOptions& options);

}  // namespace porter
