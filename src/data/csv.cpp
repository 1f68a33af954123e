// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "data/csv_reader.hpp"
#include "data/dialect.hpp"
#include "data/text_input.hpp"
#include "text.hpp"

namespace porter {
namespace {

class CsvDecoder : TextTable {
 public:
  CsvDecoder(TextInput& input, std::size_t features, BrokenRows broken)
      : TextTable(input.name(), features, broken),
        columns_(features > 0 ? features + 1 : 0),
        stated_(features > 0),
        reader_(input.reader(), input.name(),
                // What one record holds must change neither how others are read nor m.
                keep_broken_ ? ',' : guess_separator(input.start()),
                keep_broken_ ? RecordLines::one : RecordLines::several) {
    require(!input.empty(), ErrorKind::io, input.name(), ": the file is empty");
  }

  FileTable decode() {
    bool first = !keep_broken_;
    while (reader_.next()) {
      line_ = reader_.line();
      if (!(std::exchange(first, false) && skip_header())) add_row([&] { read_row(); });
    }
    require(table_.rows() > 0, ErrorKind::io, table_.name,
            ": expected rows of numbers, found none");
    table_.data.features = columns_ - 1;
    return std::move(table_);
  }

 private:
  // Whether the first line is a header, which says how wide the table is where nobody has.
  bool skip_header() {
    const auto fields = reader_.fields();
    if (!stated_) columns_ = fields.size();
    require(columns_ >= 2, ErrorKind::io, place(),
            ": expected at least one feature and the label, separated by commas, found one column");
    return fields.size() == columns_ &&
           std::ranges::none_of(fields, [](auto field) { return parse_signed(field).has_value(); });
  }

  void read_row() {
    const auto fields = reader_.fields();
    if (fields.size() != columns_)
      fail(ErrorKind::io, place(), ": expected ", columns_, " columns",
           stated_ ? ", data.features and the label" : " as in the first line", ", found ",
           fields.size());
    for (std::size_t column = 1; column <= columns_; ++column) {
      const bool label = column == columns_;
      const double value = require_number(fields[column - 1], label ? "the label" : "a feature",
                                          [&] { return concat(place(), ", column ", column); });
      if (label)
        table_.labels.push_back(value);
      else
        table_.data.values.push_back(static_cast<float>(value));
    }
    table_.lines.push_back(line_);
  }

  std::size_t columns_;
  bool stated_;
  CsvReader reader_;
};

}  // namespace

FileTable decode_csv(TextInput& input, std::size_t features, BrokenRows broken) {
  return CsvDecoder(input, features, broken).decode();
}

FileTable decode_csv(std::string_view bytes, const std::string& name, std::size_t features,
                     BrokenRows broken) {
  TextInput input(bytes, name);
  return decode_csv(input, features, broken);
}

}  // namespace porter
