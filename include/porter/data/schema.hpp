// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/core/choice.hpp"

namespace porter {

enum class ColumnKind {
  number,    ///< one feature
  category,  ///< a feature for each value, 1 for the one that is there
  drop,      ///< not used: names, numbers of records, dates
};
template <>
struct Choices<ColumnKind> {
  static constexpr Choice<ColumnKind> table[] = {{"number", ColumnKind::number},
                                                 {"category", ColumnKind::category},
                                                 {"drop", ColumnKind::drop}};
};

/// How a number becomes a feature.
enum class ColumnScale {
  none,
  range,     ///< (x - low) / (high - low)
  standard,  ///< (x - mean) / deviation
  measured,  ///< the same, once mean and deviation have been measured privately
};
template <>
struct Choices<ColumnScale> {
  static constexpr Choice<ColumnScale> table[] = {{"none", ColumnScale::none},
                                                  {"range", ColumnScale::range},
                                                  {"standard", ColumnScale::standard},
                                                  {"measured", ColumnScale::measured}};
};

/// What becomes of a value that is not there. An error names the place; where a guarantee is
/// claimed the record stays and counts for nothing instead. Here and below.
enum class Missing {
  error,
  own,   ///< it has a feature of its own, 1 where it happens
  fill,  ///< it is taken for a number, or for one of the values
};

/// What becomes of a number out of range.
enum class Outside { error, clamp, missing };
template <>
struct Choices<Outside> {
  static constexpr Choice<Outside> table[] = {
      {"error", Outside::error}, {"clamp", Outside::clamp}, {"missing", Outside::missing}};
};

/// What becomes of a value that is none of a category's.
enum class Unknown {
  error,
  other,  ///< as Missing::own
  missing,
};
template <>
struct Choices<Unknown> {
  static constexpr Choice<Unknown> table[] = {
      {"error", Unknown::error}, {"other", Unknown::other}, {"missing", Unknown::missing}};
};

/// What is known of a column before anybody looks at a record.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::string unit = {};  ///< for people

  // Of a number:
  std::optional<double> low = {}, high = {};  ///< what is possible
  Outside outside = Outside::error;
  ColumnScale scale = ColumnScale::none;
  double mean = 0, deviation = 1;  ///< of scale = standard
  double fill = 0;                 ///< of missing = fill
  /// Not public knowledge, but measured by the run with noise: the range; mean and deviation.
  bool measured_range = false, measured_moments = false;

  // Of a category:
  std::vector<std::string> values = {};  ///< in the order of their features
  Unknown unknown = Unknown::error;
  std::string fill_value = {};  ///< of missing = fill

  Missing missing = Missing::error;

  bool operator==(const Column&) const = default;
  bool lacks_range() const { return measured_range && !low; }
  bool lacks_moments() const { return scale == ColumnScale::measured; }
  /// The features that it becomes, by name: "age", "job=clerk", "job (missing)".
  std::vector<std::string> features() const;
  /// A number in range as its feature.
  double scaled(double value) const;
};

/// A column that is learned: its classes in order, or a number.
struct Label {
  std::string name;
  std::vector<std::string> classes = {};  ///< empty: a number
  /// A target is learned as (y - mean) / deviation, and predicted as it was.
  double mean = 0, deviation = 1;

  bool operator==(const Label&) const = default;
  bool number() const { return classes.empty(); }
  /// What is learned for a target, and back.
  double scaled(double target) const { return (target - mean) / deviation; }
  double unscaled(double value) const { return value * deviation + mean; }
};

/// The column that says how much a record counts. Nothing of the records' weights but the largest
/// that is possible is known to others, so what is learned with is weight / maximum, in [0, 1].
struct WeightColumn {
  std::string name;
  double maximum = 1;
  Outside outside = Outside::error;  ///< of [0, maximum]: error or clamp

  bool operator==(const WeightColumn&) const = default;
};

/// How one owner's file is written. Owners may differ in it.
struct TableFormat {
  char separator = '\0';  ///< \0: guessed from the first lines
  bool header = true;     ///< else: columns in the order of the schema, weight, labels
  bool decimal_comma = false;
  std::vector<std::string> missing = {"", "NA", "N/A", "nan", "NaN", "null", "NULL", "?"};

  bool operator==(const TableFormat&) const = default;
};

/// What all owners of a consortium know of their tables, and agree on before the first round. It
/// holds public knowledge only, but for what columns say is measured.
struct Schema {
  TableFormat format = {};
  std::vector<Label> labels;  ///< one, or several that are numbers: the targets in their order
  std::optional<WeightColumn> weight = {};
  std::vector<Column> columns;

  /// Whether numbers are learned.
  bool regression() const { return labels.front().number(); }

  /// All features in order, without the column of ones.
  std::vector<std::string> features() const;

  /// Whether anything in it is measured by the run, and whether some of that is still to be done.
  bool measures_range() const;
  bool measures_moments() const;
  bool measures() const { return measures_range() || measures_moments(); }
  bool is_complete() const;
};

/// More features than this are a mistake: an id taken for a category, say.
inline constexpr std::size_t kMaxSchemaFeatures = 1'000'000;

/// Reads schema.toml. Error{usage} names `source`, the line, the key, what was expected and found.
Schema parse_schema(std::string_view text, const std::string& source);
Schema load_schema(const std::filesystem::path& file);
std::string to_toml(const Schema& schema);

/// What owners must agree on, column by column: "label" (of several "label NAME"), "weight" and
/// "column NAME" with a text each. Units and the format of files are not in it.
std::map<std::string, std::string> schema_facts(const Schema& schema);
/// SHA-256 of these.
std::string schema_hash(const Schema& schema);

}  // namespace porter
