// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/core/choice.hpp"
#include "porter/data/dataset.hpp"
#include "porter/data/image.hpp"
#include "porter/data/schema.hpp"

namespace porter {

/// How rows are given to agents:
///   shuffled      at random
///   contiguous    in the order of the file
///   by-label      sorted by class, stable
///   dirichlet:A   class proportions of each agent drawn from the Dirichlet(A) law
///   sizes:S,S,... at random, agents' numbers of rows as S to each other
///   quantity:A    at random, these shares drawn from the Dirichlet(A) law
struct Split {
  enum class Kind { shuffled, contiguous, by_label, dirichlet, sizes, quantity };
  Kind kind = Kind::shuffled;
  double alpha = 0;                ///< of dirichlet and quantity
  std::vector<double> sizes = {};  ///< of sizes, one for each agent

  /// Whether agents hold different numbers of rows.
  bool is_unequal() const { return kind == Kind::sizes || kind == Kind::quantity; }

  /// Whether a row's label decides who holds it.
  bool by_labels() const { return kind == Kind::by_label || kind == Kind::dirichlet; }
};
/// Error{usage} unless it is one of the above.
Split parse_split(std::string_view text);
std::string to_string(const Split& split);

/// The rows of `data` in an order such that agent i holds the i-th run of m = floor(rows / agents)
/// rows; the at most agents - 1 rows left over belong to nobody and are not in it, so its size is
/// agents * m. Where agents hold different numbers m is the largest, and places behind an agent's
/// last row are kNoRow. Error{usage} for more agents than rows, or an agent without any.
inline constexpr std::uint32_t kNoRow = 0xFFFFFFFF;
std::vector<std::uint32_t> partition_rows(const Dataset& data, std::size_t agents,
                                          const Split& split, std::uint64_t seed);
/// How many rows each agent holds, where the split makes them differ; else none. It depends on the
/// number of rows and on nothing in them.
std::vector<std::size_t> dealt_sizes(std::size_t rows, std::size_t agents, const Split& split,
                                     std::uint64_t seed);
/// These rows. At a place of nobody is a row of the same agent that counts for nothing
/// (Dataset::voids).
Dataset dealt_rows(const Dataset& data, std::size_t agents, std::vector<std::uint32_t> rows);

/// Which of equal parts of the rows is the test set: number 1 to `of`; 0 of 0: none.
struct Fold {
  std::uint32_t number = 0, of = 0;

  explicit operator bool() const { return of > 0; }
};
inline constexpr std::uint32_t kMaxFolds = 1000;
/// "2/5". Error{usage} unless it is a number from 1 to K, and K from 2 to kMaxFolds.
Fold parse_fold(std::string_view text);
std::string to_string(const Fold& fold);

/// How features are scaled; spectral and standard by what is measured on the training set.
enum class FeatureScale { none, spectral, standard, unit };
template <>
struct Choices<FeatureScale> {
  static constexpr Choice<FeatureScale> table[] = {{"none", FeatureScale::none},
                                                   {"spectral", FeatureScale::spectral},
                                                   {"standard", FeatureScale::standard},
                                                   {"unit", FeatureScale::unit}};
};
/// What `standard` subtracts from every feature, and what it divides by.
struct FeatureMoments {
  double mean = 0, deviation = 1;
};

/// What was done to features before they were learned from, to be done again before predicting.
struct FeatureScaling {
  FeatureScale kind = FeatureScale::none;
  double mean = 0, deviation = 1;  ///< of `standard`
  double factor = 1;               ///< of `spectral`: what all columns are divided by
  bool bias = false;               ///< whether a column of ones is appended
  /// Before all of that. Where it is none, its shape is that of the rows, if they are images whose
  /// shape the model asks for.
  ImageTransform transform = {};

  /// Transforms and scales the rows and appends the column.
  void apply(Dataset& data) const;
  /// How many features a record had before, where it has `features` after.
  std::size_t given_features(std::size_t features) const {
    return transform ? transform.image.pixels() : features - (bias ? 1 : 0);
  }
};

/// A training set and, where there is one, a test set with the same features and classes.
struct DataPair {
  Dataset train;
  std::optional<Dataset> test;
  FeatureScaling scaling = {};  ///< that both have been through
  std::string source;           ///< what it is and where it came from, for reports
  std::string warning;  ///< for their owner only: how many records count for nothing; or empty
};

/// The [data] section of a config.
struct DataOptions {
  std::string name =
      "synthetic";  ///< a known data set; ignored when `train` (or train_images) is given
  std::string train = {}, test = {};  ///< files: libsvm text, csv, npz; also .gz and .zst
  /// What the columns of csv files mean, and the file it was read from. With it, classes and
  /// features are its own.
  std::shared_ptr<const Schema> schema = {};
  std::string schema_file = {};
  std::string train_images = {}, train_labels = {};  ///< IDX files
  std::string test_images = {}, test_labels = {};
  /// Feature columns without the bias, stated; 0: as many as the training file has.
  std::size_t features = 0;
  /// The labels as the file writes them, stated: classes[i] becomes class number i. Empty: those of
  /// the training file, ascending.
  std::vector<double> classes = {};
  /// For data without a test set: the share of the rows that becomes one; 0: none. Drawn from a
  /// seed of its own, so that all runs on the same data hold out the same rows; classes keep their
  /// proportions.
  double holdout = 0;
  Fold fold = {};  ///< the same by equal parts
  bool holds_out() const { return holdout > 0 || fold; }
  /// The test set of a known data set is left out, as if it had none: settings that are chosen on
  /// rows held out of the training set owe nothing to the test set.
  bool without_test = false;
  /// `test` stands in for the rows that were held out. They stay out of the training set all the
  /// same, so that a trained model meets the scale that it was trained with.
  bool test_instead = false;
  TransformKind transform = TransformKind::none;  ///< of images, before they are scaled
  ImageShape image = {};  ///< stated; IDX files and known images have their own
  bool images = false;    ///< the model asks for their shape
  FeatureScale scale = FeatureScale::none;
  /// Of `standard`, stated: public constants, in the place of those of the training rows.
  std::optional<FeatureMoments> moments = {};
  /// Whether the scale of a row depends on other rows.
  bool measures_scale() const {
    return scale == FeatureScale::spectral || (scale == FeatureScale::standard && !moments);
  }
  std::string outliers =
      "none";  ///< none | FRACTION:FACTOR: so many training rows times the factor, at last
  bool plants_outliers() const { return outliers != "none"; }
  bool bias = true;         ///< append a column of ones, last
  bool regression = false;  ///< labels are targets, not classes
  /// What is learned from the rows comes with a guarantee, so nothing but a record's own gradient
  /// may depend on it. Files need a schema, or `features` and `classes` (a known data set has its
  /// own), no scale
  /// is measured, nothing is cached, and a record that does not fit stays in its place and counts
  /// for nothing: Dataset::voids.
  bool guarantee = false;
  bool cache = true;  ///< a parsed copy of large files may be kept in the user's cache
  /// Who will share the training rows evenly: `spectral` is measured on the first of them, as many
  /// as are dealt.
  std::size_t agents = 1;
};

/// More labels than this are targets of a regression, not classes.
inline constexpr std::size_t kMaxClasses = 1000;

/// Reads or generates, maps labels to class numbers, holds out, transforms images, scales, appends
/// the bias column, plants outliers. Errors name the file, the line, what was expected and what was
/// found. A path that is no regular file is refused before it is opened. `progress` hears how much
/// of a csv file has been read.
using LoadProgress = std::function<void(const std::string& file, double share)>;
DataPair load_data(const DataOptions& options, const LoadProgress& progress = {});

/// What these options do to images, and their shape. Error{usage} where a transform has none.
ImageTransform transform_of(const DataOptions& options);

/// Rows that a caller has, instead: class numbers or targets are in their labels. Holds out,
/// transforms images, scales, appends the bias column, plants outliers.
DataPair prepare_data(const DataOptions& options, DataPair pair);

}  // namespace porter
