// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "text.hpp"

namespace porter {
namespace {

class CsvDecoder : TextTable {
 public:
  CsvDecoder(std::string_view bytes, const std::string& name, std::size_t features,
             BrokenRows broken)
      : TextTable(bytes, name, features, broken),
        columns_(features > 0 ? features + 1 : 0),
        stated_(features > 0) {}

  FileTable decode() {
    bool first = !keep_broken_;  // then every line is a record: what one holds must not change m
    while (const auto line = lines_.next()) {
      if (trim(*line).empty() && !keep_broken_) continue;
      split(*line);
      if (!(std::exchange(first, false) && skip_header())) add_row([&] { read_row(); });
    }
    require(table_.rows() > 0, ErrorKind::io, table_.name,
            ": expected rows of numbers, found none");
    table_.data.features = columns_ - 1;
    return std::move(table_);
  }

 private:
  void split(std::string_view line) {
    fields_.clear();
    while (true) {
      const auto comma = line.find(',');
      fields_.push_back(trim(line.substr(0, comma)));
      if (comma == line.npos) return;
      line.remove_prefix(comma + 1);
    }
  }

  // Whether the first line is a header, which says how wide the table is where nobody has.
  bool skip_header() {
    if (!stated_) columns_ = fields_.size();
    require(columns_ >= 2, ErrorKind::io, place(),
            ": expected at least one feature and the label, separated by commas, found one column");
    return fields_.size() == columns_ && std::ranges::none_of(fields_, [](auto field) {
             return parse_signed(field).has_value();
           });
  }

  void read_row() {
    if (fields_.size() != columns_)
      fail(ErrorKind::io, place(), ": expected ", columns_, " columns",
           stated_ ? ", data.features and the label" : " as in the first line", ", found ",
           fields_.size());
    for (std::size_t column = 1; column <= columns_; ++column) {
      const bool label = column == columns_;
      const double value = require_number(fields_[column - 1], label ? "the label" : "a feature",
                                          [&] { return concat(place(), ", column ", column); });
      if (label)
        table_.labels.push_back(value);
      else
        table_.data.values.push_back(static_cast<float>(value));
    }
    table_.lines.push_back(lines_.number());
  }

  std::vector<std::string_view> fields_;  // of the line that is being read
  std::size_t columns_;
  bool stated_;
};

}  // namespace

FileTable decode_csv(std::string_view bytes, const std::string& name, std::size_t features,
                     BrokenRows broken) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);  // the byte-order mark of Excel
  return CsvDecoder(bytes, name, features, broken).decode();
}

}  // namespace porter
