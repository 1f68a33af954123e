// SPDX-License-Identifier: Apache-2.0
#include "data/row_encoder.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "text.hpp"

namespace porter {
namespace {

// Where a table has more features than this for a column, most of them are zero.
constexpr std::size_t kDenseFeaturesPerColumn = 4;

// Of the field with that name; nothing if there is none.
std::optional<std::size_t> find_field(std::span<const std::string_view> names,
                                      std::string_view name) {
  const auto count = std::ranges::count(names, name);
  require(count <= 1, ErrorKind::io, "expected the column ", as_found(name), " once, found it ",
          count, " times");
  if (count == 0) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

std::string list_names(std::span<const std::string_view> names) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (const auto name : names.first(std::min(names.size(), kShown)))
    text += (text.empty() ? "" : ", ") + as_found(name);
  return text + (names.size() > kShown ? ", ..." : "");
}

}  // namespace

RowEncoder::RowEncoder(const Schema& schema, std::span<const std::string_view> names,
                       bool label_needed)
    : schema_(schema), fields_(names.size()) {
  const bool in_order = names.empty();
  std::size_t used = 0;
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const auto& column = schema.columns[c];
    if (column.kind == ColumnKind::drop) continue;
    const auto field = in_order ? std::optional(c) : find_field(names, column.name);
    require(field.has_value(), ErrorKind::io, "expected a column ", as_found(column.name),
            " as the schema says, found the columns ", list_names(names));
    Source source{c, *field, features_, {}};
    for (const auto& value : column.values)
      source.values.emplace(value, static_cast<std::uint32_t>(source.values.size()));
    features_ += column.features().size();
    sources_.push_back(std::move(source));
    ++used;
  }
  sparse_ = features_ > kDenseFeaturesPerColumn * used;
  if (label_needed) find_labels(names);
  if (in_order) fields_ = schema.columns.size() + (weight_field_ ? 1 : 0) + label_fields_.size();
}

void RowEncoder::find_labels(std::span<const std::string_view> names) {
  std::size_t next = schema_.columns.size();
  if (schema_.weight) {
    weight_field_ = names.empty() ? std::optional(next++) : find_field(names, schema_.weight->name);
    require(weight_field_.has_value(), ErrorKind::io, "expected the weight ",
            as_found(schema_.weight->name), " as the schema says, found the columns ",
            list_names(names));
  }
  for (const auto& label : schema_.labels) {
    const auto field = names.empty() ? std::optional(next++) : find_field(names, label.name);
    require(field.has_value(), ErrorKind::io, "expected the label ", as_found(label.name),
            " as the schema says, found the columns ", list_names(names));
    label_fields_.push_back(*field);
  }
  for (const auto& name : schema_.labels.front().classes)
    classes_.emplace(name, static_cast<float>(classes_.size()));
}

bool RowEncoder::is_missing(std::string_view field) const {
  return std::ranges::find(schema_.format.missing, field) != schema_.format.missing.end();
}

double RowEncoder::number(std::string_view field) const {
  std::string with_point;
  const auto comma = field.find(',');
  if (schema_.format.decimal_comma && comma != field.npos) {
    with_point = field;
    with_point[comma] = '.';
    field = with_point;
  }
  const auto value = parse_signed(field);
  if (value && fits_float(*value)) return *value;
  const bool decimal_comma = !schema_.format.decimal_comma && std::ranges::count(field, ',') == 1 &&
                             parse_signed(std::string(field.substr(0, comma)) + "." +
                                          std::string(field.substr(comma + 1)));
  fail(ErrorKind::io, "expected a finite number, found ",
       field.empty() ? "nothing" : as_found(field),
       decimal_comma ? "; if this is a decimal comma, write decimal = \",\" in the schema's [file]"
                     : "");
}

void RowEncoder::encode_missing(const Column& column, const Source& source) const {
  require(column.missing != Missing::error, ErrorKind::io, "expected a value, found none");
  if (column.missing == Missing::own) {
    entries_.emplace_back(source.feature + column.features().size() - 1, 1.0F);
  } else if (column.kind == ColumnKind::number) {
    entries_.emplace_back(source.feature, static_cast<float>(column.scaled(column.fill)));
  } else {
    entries_.emplace_back(source.feature + source.values.at(column.fill_value), 1.0F);
  }
}

void RowEncoder::encode_number(const Column& column, const Source& source,
                               std::string_view field) const {
  double value = number(field);
  if (column.low && (value < *column.low || value > *column.high)) {
    if (column.outside == Outside::missing) return encode_missing(column, source);
    require(column.outside == Outside::clamp, ErrorKind::io, "expected a number from ", *column.low,
            " to ", *column.high, ", found ", as_found(field));
    value = std::clamp(value, *column.low, *column.high);
  }
  const double scaled = column.scaled(value);
  require(fits_float(scaled), ErrorKind::io, "expected a finite number when scaled, found ",
          scaled);
  entries_.emplace_back(source.feature, static_cast<float>(scaled));
}

void RowEncoder::encode_category(const Column& column, const Source& source,
                                 std::string_view field) const {
  const auto found = source.values.find(field);
  if (found != source.values.end()) {
    entries_.emplace_back(source.feature + found->second, 1.0F);
  } else if (column.unknown == Unknown::other) {
    entries_.emplace_back(source.feature + source.values.size(), 1.0F);
  } else {
    require(column.unknown == Unknown::missing, ErrorKind::io, "expected one of the ",
            column.values.size(), " values of the schema, found ", as_found(field));
    encode_missing(column, source);
  }
}

void RowEncoder::encode(const Source& source, std::string_view field) const {
  const auto& column = schema_.columns[source.column];
  try {
    // A value that the schema lists is there, even if others call it missing.
    if (is_missing(field) && !source.values.contains(field)) return encode_missing(column, source);
    column.kind == ColumnKind::number ? encode_number(column, source, field)
                                      : encode_category(column, source, field);
  } catch (const Error& error) {
    fail(error.kind(), "column ", as_found(column.name), ": ", error.what());
  }
}

void RowEncoder::add(std::span<const std::string_view> fields, Dataset& data) const {
  entries_.clear();
  for (const auto& source : sources_) encode(source, fields[source.field]);
  if (sparse_) {
    if (data.row_starts.empty()) data.row_starts.push_back(0);
    for (const auto& [feature, value] : entries_) {
      data.columns.push_back(static_cast<std::uint32_t>(feature));
      data.values.push_back(value);
    }
    data.row_starts.push_back(data.values.size());
  } else {
    const auto begin = data.values.size();
    data.values.resize(begin + features_, 0.0F);
    for (const auto& [feature, value] : entries_) data.values[begin + feature] = value;
  }
}

float RowEncoder::encode(const Label& label, std::string_view field) const {
  if (label.number()) {
    const double scaled = label.scaled(number(field));
    require(fits_float(scaled), ErrorKind::io, "expected a finite number when scaled, found ",
            scaled);
    return static_cast<float>(scaled);
  }
  const auto found = classes_.find(field);
  require(found != classes_.end(), ErrorKind::io, "expected one of the ", label.classes.size(),
          " classes of the schema, found ", field.empty() ? "nothing" : as_found(field));
  return found->second;
}

float RowEncoder::weight(std::span<const std::string_view> fields) const {
  const auto& weight = *schema_.weight;
  const auto field = fields[*weight_field_];
  try {
    const double value = number(field);
    require(weight.outside == Outside::clamp || (value >= 0 && value <= weight.maximum),
            ErrorKind::io, "expected a number from 0 to ", weight.maximum, ", found ",
            as_found(field));
    return static_cast<float>(std::clamp(value, 0.0, weight.maximum) / weight.maximum);
  } catch (const Error& error) {
    fail(error.kind(), "weight ", as_found(weight.name), ": ", error.what());
  }
}

void RowEncoder::add_labels(std::span<const std::string_view> fields,
                            std::vector<double>& labels) const {
  for (std::size_t l = 0; l < schema_.labels.size(); ++l) try {
      labels.push_back(double{encode(schema_.labels[l], fields[label_fields_[l]])});
    } catch (const Error& error) {
      fail(error.kind(), "label ", as_found(schema_.labels[l].name), ": ", error.what());
    }
}

}  // namespace porter
