// SPDX-License-Identifier: Apache-2.0
#include "porter/data/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "io/file.hpp"
#include "io/toml.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

std::string list_text(const std::vector<std::string>& texts) {
  std::string list;
  for (const auto& text : texts) list += (list.empty() ? "" : ", ") + in_quotes(text);
  return "[" + list + "]";
}

std::string range_text(const Column& column) {
  return fmt::format("[{}, {}]", shortest(*column.low), shortest(*column.high));
}

std::string missing_text(const Column& column) {
  if (column.missing == Missing::error) return in_quotes("error");
  if (column.missing == Missing::own) return in_quotes("own");
  return column.kind == ColumnKind::number ? shortest(column.fill)
                                           : in_quotes("value:" + column.fill_value);
}

// What is there by now, and is no public knowledge.
std::vector<std::string> known_by_measuring(const Column& column) {
  std::vector<std::string> names;
  if (column.measured_range && column.low) names.emplace_back("range");
  if (column.measured_moments && !column.lacks_moments()) names.emplace_back("moments");
  return names;
}

// Its keys but name and unit, as schema.toml has them.
std::vector<std::pair<std::string, std::string>> meaning(const Column& column) {
  std::vector<std::pair<std::string, std::string>> keys = {
      {"kind", in_quotes(choice_text(column.kind))}};
  if (column.kind == ColumnKind::drop) return keys;
  if (column.kind == ColumnKind::category) {
    keys.emplace_back("values", list_text(column.values));
    keys.emplace_back("unknown", in_quotes(choice_text(column.unknown)));
  } else {
    if (column.low || column.measured_range) {
      keys.emplace_back("range", column.low ? range_text(column) : in_quotes("measured"));
      keys.emplace_back("outside", in_quotes(choice_text(column.outside)));
    }
    keys.emplace_back("scale", in_quotes(choice_text(column.scale)));
    if (column.scale == ColumnScale::standard) {
      keys.emplace_back("mean", shortest(column.mean));
      keys.emplace_back("deviation", shortest(column.deviation));
    }
    if (const auto known = known_by_measuring(column); !known.empty())
      keys.emplace_back("measured", list_text(known));
  }
  keys.emplace_back("missing", missing_text(column));
  return keys;
}

std::vector<std::pair<std::string, std::string>> meaning(const Label& label) {
  if (!label.number()) return {{"classes", list_text(label.classes)}};
  return {{"kind", in_quotes("number")},
          {"mean", shortest(label.mean)},
          {"deviation", shortest(label.deviation)}};
}

std::vector<std::pair<std::string, std::string>> meaning(const WeightColumn& weight) {
  return {{"maximum", shortest(weight.maximum)},
          {"outside", in_quotes(choice_text(weight.outside))}};
}

std::string one_line(const std::vector<std::pair<std::string, std::string>>& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text += concat(text.empty() ? "" : ", ", key, " = ", value);
  return text;
}

}  // namespace

std::vector<std::string> Column::features() const {
  if (kind == ColumnKind::drop) return {};
  std::vector<std::string> names;
  if (kind == ColumnKind::number) names.push_back(name);
  for (const auto& value : values) names.push_back(name + "=" + value);
  if (kind == ColumnKind::category && unknown == Unknown::other) names.push_back(name + " (other)");
  if (missing == Missing::own) names.push_back(name + " (missing)");
  return names;
}

double Column::scaled(double value) const {
  if (scale == ColumnScale::range) return (value - *low) / (*high - *low);
  return scale == ColumnScale::standard ? (value - mean) / deviation : value;
}

std::vector<std::string> Schema::features() const {
  std::vector<std::string> names;
  for (const auto& column : columns)
    for (auto& name : column.features()) names.push_back(std::move(name));
  return names;
}

bool Schema::measures_range() const {
  return std::ranges::any_of(columns, &Column::measured_range);
}

bool Schema::measures_moments() const {
  return std::ranges::any_of(columns, &Column::measured_moments);
}

bool Schema::is_complete() const {
  return std::ranges::none_of(columns, &Column::lacks_range) &&
         std::ranges::none_of(columns, &Column::lacks_moments);
}

std::string to_toml(const Schema& schema) {
  const TableFormat standard;
  const auto& format = schema.format;
  std::string text = "[file]\n";
  if (format.separator != '\0')
    text += concat("separator = ", in_quotes(std::string_view(&format.separator, 1)), '\n');
  text += concat("header = ", format.header ? "true" : "false", '\n');
  if (format.decimal_comma) text += "decimal = \",\"\n";
  if (format.missing != standard.missing)
    text += concat("missing = ", list_text(format.missing), '\n');

  for (const auto& label : schema.labels) {
    text += schema.labels.size() == 1 ? "\n[label]\n" : "\n[[label]]\n";
    text += concat("name = ", in_quotes(label.name), '\n');
    for (const auto& [key, value] : meaning(label)) text += concat(key, " = ", value, '\n');
  }

  if (schema.weight) {
    text += concat("\n[weight]\nname = ", in_quotes(schema.weight->name), '\n');
    for (const auto& [key, value] : meaning(*schema.weight))
      text += concat(key, " = ", value, '\n');
  }

  for (const auto& column : schema.columns) {
    text += concat("\n[[column]]\nname = ", in_quotes(column.name), '\n');
    if (!column.unit.empty()) text += concat("unit = ", in_quotes(column.unit), '\n');
    for (const auto& [key, value] : meaning(column)) text += concat(key, " = ", value, '\n');
  }
  return text;
}

// Columns that are not used say nothing, and an owner may not even have them.
std::map<std::string, std::string> schema_facts(const Schema& schema) {
  std::map<std::string, std::string> facts;
  std::size_t target = 0, place = 0;
  for (const auto& label : schema.labels)
    if (schema.labels.size() == 1)
      facts["label"] = concat(in_quotes(label.name), ", ", one_line(meaning(label)));
    else
      facts["label " + label.name] = concat("place ", ++target, ", ", one_line(meaning(label)));
  if (schema.weight)
    facts["weight"] =
        concat(in_quotes(schema.weight->name), ", ", one_line(meaning(*schema.weight)));
  for (const auto& column : schema.columns)
    if (column.kind != ColumnKind::drop)
      facts["column " + column.name] = concat("place ", ++place, ", ", one_line(meaning(column)));
  return facts;
}

std::string schema_hash(const Schema& schema) {
  std::string all;
  for (const auto& [name, text] : schema_facts(schema)) all += concat(name, ": ", text, '\n');
  return sha256_hex(all);
}

}  // namespace porter
