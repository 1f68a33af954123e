// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "porter/data/dataset.hpp"
#include "porter/data/schema.hpp"

namespace porter {

/// Makes features of the fields of a record, as a schema says. Errors are Error{io} about a column:
/// the caller puts the place before them.
class RowEncoder {
 public:
  /// `names`: of the fields, as the file's header has them; empty: the schema's columns in order,
  /// then weight and labels. Error{io} for a column of the schema that is missing or there twice.
  /// Weight and labels may be missing where `label_needed` is false, and are not read then. Columns
  /// that the schema lacks are passed over.
  RowEncoder(const Schema& schema, std::span<const std::string_view> names, bool label_needed);

  /// How many fields a record has.
  std::size_t fields() const { return fields_; }
  /// Whether rows are sparse: where most features are values of categories.
  bool sparse() const { return sparse_; }
  std::size_t features() const { return features_; }

  /// Appends the features of a record to the data.
  void add(std::span<const std::string_view> fields, Dataset& data) const;
  /// Appends its class number, or its scaled targets.
  void add_labels(std::span<const std::string_view> fields, std::vector<double>& labels) const;
  /// Where the schema has one: weight / maximum.
  float weight(std::span<const std::string_view> fields) const;

 private:
  struct Source {
    std::size_t column, field, feature;  // numbers of the schema's column, its field, its first
    std::unordered_map<std::string_view, std::uint32_t> values;  // of a category
  };
  using Entry = std::pair<std::size_t, float>;  // a feature and its value

  void find_labels(std::span<const std::string_view> names);
  float encode(const Label& label, std::string_view field) const;
  void encode(const Source& source, std::string_view field) const;
  void encode_number(const Column& column, const Source& source, std::string_view field) const;
  void encode_category(const Column& column, const Source& source, std::string_view field) const;
  void encode_missing(const Column& column, const Source& source) const;
  double number(std::string_view field) const;
  bool is_missing(std::string_view field) const;

  const Schema& schema_;
  std::size_t fields_ = 0, features_ = 0;
  bool sparse_ = false;
  std::vector<Source> sources_;
  std::vector<std::size_t> label_fields_;  // one for each label, or none
  std::optional<std::size_t> weight_field_;
  std::unordered_map<std::string_view, float> classes_;
  mutable std::vector<Entry> entries_;  // of the record that is read
};

}  // namespace porter
