// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/csv_reader.hpp"
#include "data/row_encoder.hpp"
#include "data/text_input.hpp"
#include "porter/data/dataset.hpp"
#include "porter/data/schema.hpp"

namespace porter {

struct SchemaRowsOptions {
  bool label = true;       ///< whether records must have theirs, and their weight
  bool guarantee = false;  ///< one record must not change how others are read
};

/// The records of a text table as a schema sees them, one after the other. Errors name the file and
/// the line. `input` and `schema` outlive it.
class SchemaRows {
 public:
  SchemaRows(TextInput& input, const Schema& schema, SchemaRowsOptions options);

  bool next() { return reader_.next(); }
  std::size_t line() const { return reader_.line(); }
  const RowEncoder& encoder() const { return encoder_; }

  /// Appends the class number of this record, or its scaled targets.
  void add_labels(std::vector<double>& labels);
  /// Where the schema has one: weight / maximum.
  float weight();
  /// Appends its features.
  void add_to(Dataset& data);

 private:
  RowEncoder make_encoder(const Schema& schema, bool label);
  std::span<const std::string_view> fields();
  template <class Use>
  auto located(const Use& use);

  CsvReader reader_;
  bool from_header_;
  RowEncoder encoder_;
};

}  // namespace porter
