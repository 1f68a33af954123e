// SPDX-License-Identifier: Apache-2.0
#include "porter/core/error.hpp"
#include "table.hpp"
#include "text.hpp"

namespace porter {
namespace {

// Calls each(field, column) for the fields of a line, columns from 1; returns their number.
template <class Each>
std::size_t for_each_field(std::string_view line, Each each) {
  std::size_t column = 0;
  while (true) {
    const auto comma = line.find(',');
    each(trim(line.substr(0, comma)), ++column);
    if (comma == line.npos) return column;
    line.remove_prefix(comma + 1);
  }
}

bool is_header(std::string_view line) {
  bool any_number = false;
  for_each_field(line, [&](std::string_view field, std::size_t) {
    any_number |= parse_number(field).has_value();
  });
  return !any_number;
}

}  // namespace

FileTable decode_csv(std::string_view bytes, const std::string& name) {
  require(!bytes.empty(), ErrorKind::io, name, ": the file is empty");
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);  // the byte-order mark of Excel
  FileTable table{.name = name};
  LineReader lines(bytes);
  std::size_t columns = 0;
  while (const auto line = lines.next()) {
    if (trim(*line).empty()) continue;
    const auto count = for_each_field(*line, [](std::string_view, std::size_t) {});
    const bool first = columns == 0;
    if (first) columns = count;
    require(columns >= 2, ErrorKind::io, name, ", line ", lines.number(),
            ": expected at least one feature and the label, separated by commas, found one column");
    require(count == columns, ErrorKind::io, name, ", line ", lines.number(), ": expected ",
            columns, " columns as in the first line, found ", count);
    if (first && is_header(*line)) continue;
    for_each_field(*line, [&](std::string_view field, std::size_t column) {
      const double value = require_number(
          field, column == columns ? "the label" : "a feature",
          [&] { return concat(name, ", line ", lines.number(), ", column ", column); });
      if (column == columns)
        table.labels.push_back(value);
      else
        table.data.values.push_back(static_cast<float>(value));
    });
    table.lines.push_back(lines.number());
  }
  require(table.rows() > 0, ErrorKind::io, name, ": expected rows of numbers, found none");
  table.data.features = columns - 1;
  return table;
}

}  // namespace porter
