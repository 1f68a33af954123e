// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>

#include "io/file.hpp"
#include "io/toml_section.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "porter/data/schema.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxSchemaBytes = std::size_t{16} << 20;

template <class Enum>
void read_choice(TomlSection& section, const char* key, Enum& value) {
  section.read_parsed(key, value, [](const std::string& text) { return parse_choice<Enum>(text); });
}

void read_texts(TomlSection& section, const char* key, std::vector<std::string>& texts) {
  const auto* node = section.find(key);
  if (node == nullptr) return;
  const auto* list = node->as_array();
  section.check(list != nullptr, key, "expected a list of texts such as [\"a\", \"b\"], found ",
                toml_text(*node));
  texts.clear();
  std::set<std::string> seen;
  for (const auto& item : *list) {
    const auto text = item.is_boolean() || !item.is_value() ? std::nullopt
                      : item.is_string()                    ? item.value<std::string>()
                                                            : std::optional(toml_text(item));
    section.check(text.has_value(), key, "expected texts, found ", toml_text(item));
    section.check(seen.insert(*text).second, key, "\"", *text, "\" is listed twice");
    texts.push_back(*text);
  }
}

TableFormat read_format(const toml::table& root, const std::string& source) {
  TomlSection section(root, "file", source);
  TableFormat format;
  std::string separator, decimal = ".";
  section.read("separator", separator);
  section.check(separator.size() <= 1 && separator != "\"" && separator != "\n", "separator",
                "expected one character such as \",\", \";\" or \"\\t\", found \"", separator,
                "\"");
  if (!separator.empty()) format.separator = separator[0];
  section.read("header", format.header);
  section.read("decimal", decimal);
  section.check(decimal == "." || decimal == ",", "decimal", "expected \".\" or \",\", found \"",
                decimal, "\"");
  format.decimal_comma = decimal == ",";
  section.check(!format.decimal_comma || format.separator != ',', "decimal",
                "a comma cannot separate fields and decimals both");
  read_texts(section, "missing", format.missing);
  section.refuse_unknown_keys();
  return format;
}

void read_deviation(TomlSection& section, double& mean, double& deviation) {
  section.read("mean", mean);
  section.read("deviation", deviation);
  section.check(deviation > 0, "deviation", "expected a number > 0, found ", deviation);
}

// One of several sections [[what]].
const toml::table* table_of(const toml::node& node, const char* all, const char* what,
                            const std::string& source) {
  require(node.is_table(), ErrorKind::usage, toml_place(node, source), ": expected ", all, " as [[",
          what, "]] sections, found ", toml_text(node));
  return node.as_table();
}

// What it is called in errors; its own where it has one.
std::string name_in(const toml::node& node) {
  const auto* name = node.is_table() ? node.as_table()->get("name") : nullptr;
  return name != nullptr && name->is_string() ? *name->value<std::string>() : std::string();
}

Label read_label(TomlSection section) {
  Label label;
  section.read("name", label.name);
  section.check(!label.name.empty(), "name", "expected the name of a column, found nothing");
  std::string kind = section.has("classes") ? "class" : "number";
  section.read("kind", kind);
  section.check(kind == "class" || kind == "number", "kind", "expected class or number, found \"",
                kind, "\"");
  read_texts(section, "classes", label.classes);
  if (kind == "class")
    section.check(label.classes.size() >= 2 && label.classes.size() <= kMaxClasses, "classes",
                  "expected 2 to ", kMaxClasses, " classes in order, found ", label.classes.size());
  else
    section.check(label.classes.empty(), "classes", "a number has no classes");
  if (label.number()) read_deviation(section, label.mean, label.deviation);
  section.refuse_unknown_keys();
  return label;
}

// [label], or several of a regression as [[label]].
std::vector<Label> read_labels(const toml::table& root, const std::string& source) {
  const auto* node = root.get("label");
  require(node != nullptr, ErrorKind::usage, source,
          ": expected a section [label] with the name of the column that is learned");
  const auto* list = node->as_array();
  require(list == nullptr || !list->empty(), ErrorKind::usage, toml_place(*node, source),
          ": expected labels as [[label]] sections, found none");
  if (list == nullptr) return {read_label(TomlSection(root, "label", source))};
  std::vector<Label> labels;
  std::set<std::string> names;
  for (const auto& item : *list) {
    labels.push_back(read_label(
        TomlSection(table_of(item, "labels", "label", source), "label " + name_in(item), source)));
    require(names.insert(labels.back().name).second, ErrorKind::usage, toml_place(item, source),
            ": the label \"", labels.back().name, "\" is listed twice");
  }
  for (const auto& label : labels)
    require(labels.size() == 1 || label.number(), ErrorKind::usage, toml_place(*node, source),
            ": several labels are the targets of a regression, numbers, but \"", label.name,
            "\" has classes");
  return labels;
}

std::optional<WeightColumn> read_weight(const toml::table& root, const std::string& source) {
  TomlSection section(root, "weight", source);
  if (!section.present()) return std::nullopt;
  WeightColumn weight;
  section.read("name", weight.name);
  section.check(!weight.name.empty(), "name", "expected the name of a column, found nothing");
  section.check(section.has("maximum"), "maximum",
                "expected the largest weight that a record may have; it is public, so write what "
                "is known without looking at the records");
  section.read("maximum", weight.maximum);
  section.check(weight.maximum > 0 && std::isfinite(weight.maximum), "maximum",
                "expected a finite number > 0, found ", weight.maximum);
  read_choice(section, "outside", weight.outside);
  section.check(weight.outside != Outside::missing, "outside",
                "expected error or clamp; a record without a weight cannot be weighed");
  section.refuse_unknown_keys();
  return weight;
}

void read_range(TomlSection& section, Column& column) {
  const auto* node = section.find("range");
  if (node == nullptr) return;
  if (node->is_string() && node->value<std::string>() == "measured") {
    column.measured_range = true;
    column.outside = Outside::clamp;  // what is rare is out of it
    return;
  }
  const auto* list = node->as_array();
  const auto bound = [&](std::size_t i) {
    const auto* item = list && list->size() == 2 ? list->get(i) : nullptr;
    return item && item->is_number() ? item->value<double>() : std::nullopt;
  };
  column.low = bound(0);
  column.high = bound(1);
  section.check(
      column.low && column.high && std::isfinite(*column.low) && std::isfinite(*column.high) &&
          *column.low < *column.high,
      "range", "expected two numbers, the smaller first, such as [0, 120], or \"measured\", found ",
      toml_text(*node));
}

void read_missing(TomlSection& section, Column& column) {
  const auto* node = section.find("missing");
  if (node == nullptr) return;
  const auto text = node->is_string() ? *node->value<std::string>() : std::string();
  constexpr std::string_view kValue = "value:";
  const bool number = column.kind == ColumnKind::number;
  if (text == "error") {
    column.missing = Missing::error;
  } else if (text == "own") {
    column.missing = Missing::own;
  } else if (number && node->is_number() && std::isfinite(*node->value<double>())) {
    column.missing = Missing::fill;
    column.fill = *node->value<double>();
  } else if (!number && text.starts_with(kValue)) {
    column.missing = Missing::fill;
    column.fill_value = text.substr(kValue.size());
    section.check(std::ranges::count(column.values, column.fill_value) == 1, "missing", "\"",
                  column.fill_value, "\" is none of the column's values");
  } else {
    section.reject("missing", "expected \"error\", \"own\" or ",
                   number ? "a number" : "\"value:\" and one of the values", ", found ",
                   toml_text(*node));
  }
}

// What a run has written: numbers that are there, and not public knowledge.
void read_measured(TomlSection& section, Column& column) {
  std::vector<std::string> names;
  read_texts(section, "measured", names);
  for (const auto& name : names) {
    const bool range = name == "range" && column.low;
    const bool moments = name == "moments" && column.scale == ColumnScale::standard;
    section.check(range || moments, "measured",
                  "expected \"range\" where there is one, or \"moments\" where there are mean and "
                  "deviation, found \"",
                  name, "\"");
    (range ? column.measured_range : column.measured_moments) = true;
  }
}

void read_number(TomlSection& section, Column& column) {
  read_range(section, column);
  read_choice(section, "outside", column.outside);
  const bool has_range = column.low || column.measured_range;
  section.check(has_range || !section.has("outside"), "outside", "there is no range");
  read_choice(section, "scale", column.scale);
  section.check(has_range || column.scale != ColumnScale::range, "scale",
                "\"range\" needs the range");
  section.check(has_range || column.scale != ColumnScale::measured, "scale",
                "\"measured\" needs the range, stated or measured: what one record can change ",
                "hangs on it");
  column.measured_moments = column.scale == ColumnScale::measured;
  if (column.scale == ColumnScale::standard) {
    section.check(section.has("mean") && section.has("deviation"), "scale",
                  "\"standard\" needs mean and deviation");
    read_deviation(section, column.mean, column.deviation);
  }
  read_measured(section, column);
}

void read_category(TomlSection& section, Column& column) {
  read_texts(section, "values", column.values);
  section.check(!column.values.empty(), "values",
                "expected the values of the category, found none");
  read_choice(section, "unknown", column.unknown);
}

Column read_column(const toml::node& node, const std::string& source) {
  Column column;
  TomlSection section(table_of(node, "columns", "column", source), "column " + name_in(node),
                      source);
  section.read("name", column.name);
  require(!column.name.empty(), ErrorKind::usage, toml_place(node, source),
          ": expected the name of the column, found none");
  section.read("unit", column.unit);
  read_choice(section, "kind", column.kind);
  if (column.kind == ColumnKind::number) read_number(section, column);
  if (column.kind == ColumnKind::category) read_category(section, column);
  if (column.kind != ColumnKind::drop) read_missing(section, column);
  section.refuse_unknown_keys();
  return column;
}

// All names once: labels, weight, columns.
std::vector<Column> read_columns(const toml::table& root, const Schema& schema,
                                 const std::string& source) {
  const auto* list = root.get_as<toml::array>("column");
  require(list != nullptr && !list->empty(), ErrorKind::usage, source,
          ": expected a section [[column]] for every column, found none");
  std::vector<Column> columns;
  std::set<std::string> names;
  for (const auto& label : schema.labels) names.insert(label.name);
  require(!schema.weight || names.insert(schema.weight->name).second, ErrorKind::usage, source,
          ": the column \"", schema.weight ? schema.weight->name : "",
          "\" is a label and cannot be the weight");
  for (const auto& node : *list) {
    columns.push_back(read_column(node, source));
    require(names.insert(columns.back().name).second, ErrorKind::usage, toml_place(node, source),
            ": the column \"", columns.back().name,
            "\" is listed twice, or is a label or the weight");
  }
  return columns;
}

}  // namespace

Schema parse_schema(std::string_view text, const std::string& source) {
  const auto root = parse_toml(text, source);
  for (const auto& [key, node] : root)
    require(key == "file" || key == "label" || key == "weight" || key == "column", ErrorKind::usage,
            toml_place(node, source), ": unknown section ", key.str(),
            "; a schema has [file], [label], [weight] and [[column]]");
  Schema schema;
  schema.format = read_format(root, source);
  schema.labels = read_labels(root, source);
  schema.weight = read_weight(root, source);
  schema.columns = read_columns(root, schema, source);
  const auto features = schema.features().size();
  require(features > 0, ErrorKind::usage, source, ": every column is dropped");
  require(features <= kMaxSchemaFeatures, ErrorKind::usage, source, ": expected at most ",
          kMaxSchemaFeatures, " features, found ", features);
  return schema;
}

Schema load_schema(const std::filesystem::path& file) {
  return parse_schema(read_file(file, kMaxSchemaBytes), file.string());
}

}  // namespace porter
