// SPDX-License-Identifier: Apache-2.0
#include <utility>

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

class CsvDecoder {
 public:
  CsvDecoder(std::string_view bytes, const std::string& name, std::size_t features,
             BrokenRows broken)
      : lines_(bytes),
        columns_(features > 0 ? features + 1 : 0),
        stated_(features > 0),
        keep_broken_(stated_ && broken == BrokenRows::keep) {
    require(features <= kMaxFeatures, ErrorKind::usage, "features: expected at most ", kMaxFeatures,
            ", found ", features);
    table_.name = name;
    table_.data.features = features;
  }

  FileTable decode() {
    bool first = !keep_broken_;  // then every line is a record: what one holds must not change m
    while (const auto line = lines_.next()) {
      if (trim(*line).empty() && !keep_broken_) continue;
      if (!(std::exchange(first, false) && skip_header(*line))) read_record(*line);
    }
    require(table_.rows() > 0, ErrorKind::io, table_.name,
            ": expected rows of numbers, found none");
    table_.data.features = columns_ - 1;
    return std::move(table_);
  }

 private:
  std::string place() const { return concat(table_.name, ", line ", lines_.number()); }

  // Whether the first line is a header, which says how wide the table is where nobody has.
  bool skip_header(std::string_view line) {
    const auto count = for_each_field(line, [](std::string_view, std::size_t) {});
    if (!stated_) columns_ = count;
    require(columns_ >= 2, ErrorKind::io, place(),
            ": expected at least one feature and the label, separated by commas, found one column");
    return count == columns_ && is_header(line);
  }

  void read_record(std::string_view line) {
    const auto row = table_.rows();
    try {
      read_row(line);
    } catch (const Error&) {
      if (!keep_broken_) throw;
      table_.void_last(row, lines_.number());
    }
  }

  void read_row(std::string_view line) {
    const auto count = for_each_field(line, [](std::string_view, std::size_t) {});
    if (count != columns_)
      fail(ErrorKind::io, place(), ": expected ", columns_, " columns",
           stated_ ? ", data.features and the label" : " as in the first line", ", found ", count);
    for_each_field(line, [&](std::string_view field, std::size_t column) {
      const double value = require_number(field, column == columns_ ? "the label" : "a feature",
                                          [&] { return concat(place(), ", column ", column); });
      if (column == columns_)
        table_.labels.push_back(value);
      else
        table_.data.values.push_back(static_cast<float>(value));
    });
    table_.lines.push_back(lines_.number());
  }

  LineReader lines_;
  std::size_t columns_;
  bool stated_, keep_broken_;
  FileTable table_;
};

}  // namespace

FileTable decode_csv(std::string_view bytes, const std::string& name, std::size_t features,
                     BrokenRows broken) {
  require(!bytes.empty(), ErrorKind::io, name, ": the file is empty");
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);  // the byte-order mark of Excel
  return CsvDecoder(bytes, name, features, broken).decode();
}

}  // namespace porter
