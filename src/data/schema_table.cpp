// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "data/dialect.hpp"
#include "data/schema_rows.hpp"
#include "table.hpp"
#include "text.hpp"

namespace porter {
namespace {

// Where a guarantee is claimed the separator is not guessed from records, which come behind the
// first line.
char separator_of(const Schema& schema, TextInput& input, bool guarantee) {
  if (schema.format.separator != '\0') return schema.format.separator;
  const auto first_line = input.start().substr(0, input.start().find('\n') + 1);
  require(!guarantee || schema.format.header, ErrorKind::usage, input.name(),
          ": with secret noise a table without a header needs its separator stated: separator = "
          "\",\" in the schema's [file]");
  return guess_separator(guarantee ? first_line : input.start());
}

class SchemaDecoder : TextTable {
 public:
  SchemaDecoder(TextInput& input, const Schema& schema, BrokenRows broken)
      : TextTable(input.name(), schema.features().size(), broken),
        rows_(input, schema, {.label = true, .guarantee = keep_broken_}) {
    if (rows_.encoder().sparse()) table_.data.row_starts = {0};
    table_.data.outputs = schema.labels.size();
    weighted_ = schema.weight.has_value();
  }

  FileTable decode() {
    while (rows_.next()) {
      line_ = rows_.line();
      add_row([&] {
        rows_.add_labels(table_.labels);
        if (weighted_) table_.data.weights.push_back(rows_.weight());
        table_.lines.push_back(line_);
        rows_.add_to(table_.data);
      });
    }
    require(table_.rows() > 0, ErrorKind::io, table_.name, ": expected records, found none");
    table_.data.features = rows_.encoder().features();
    return std::move(table_);
  }

 private:
  SchemaRows rows_;
};

}  // namespace

SchemaRows::SchemaRows(TextInput& input, const Schema& schema, SchemaRowsOptions options)
    : reader_(input.reader(), input.name(), separator_of(schema, input, options.guarantee),
              options.guarantee ? RecordLines::one : RecordLines::several),
      from_header_(schema.format.header),
      encoder_(make_encoder(schema, options.label)) {}

RowEncoder SchemaRows::make_encoder(const Schema& schema, bool label) {
  if (!schema.format.header) return RowEncoder(schema, {}, label);
  require(reader_.next(), ErrorKind::io, reader_.name(), ": expected a header, found nothing");
  try {
    return RowEncoder(schema, reader_.fields(), label);
  } catch (const Error& error) {
    fail(error.kind(), reader_.place(), ": ", error.what());
  }
}

std::span<const std::string_view> SchemaRows::fields() {
  const auto fields = reader_.fields();
  if (fields.size() != encoder_.fields())
    fail(ErrorKind::io, reader_.place(), ": expected ", encoder_.fields(), " columns as in the ",
         from_header_ ? "header" : "schema", ", found ", fields.size());
  return fields;
}

// What is wrong with a record names its line.
template <class Use>
auto SchemaRows::located(const Use& use) {
  try {
    return use();
  } catch (const Error& error) {
    fail(error.kind(), reader_.place(), ", ", error.what());
  }
}

void SchemaRows::add_labels(std::vector<double>& labels) {
  const auto record = fields();
  located([&] { encoder_.add_labels(record, labels); });
}

float SchemaRows::weight() {
  const auto record = fields();
  return located([&] { return encoder_.weight(record); });
}

void SchemaRows::add_to(Dataset& data) {
  const auto record = fields();
  located([&] { encoder_.add(record, data); });
}

FileTable decode_schema_table(TextInput& input, const Schema& schema, BrokenRows broken) {
  return SchemaDecoder(input, schema, broken).decode();
}

}  // namespace porter
