// SPDX-License-Identifier: Apache-2.0
// The sparse text format of LIBSVM (Chang, Lin: LIBSVM, a library for support vector machines, ACM
// TIST 2011).
#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "text.hpp"

namespace porter {
namespace {

class LibsvmDecoder : TextTable {
 public:
  LibsvmDecoder(std::string_view bytes, const std::string& name, std::size_t features,
                BrokenRows broken)
      : TextTable(name, features, broken), lines_(bytes), width_(features) {
    require(!bytes.empty(), ErrorKind::io, name, ": the file is empty");
    table_.data.row_starts = {0};
  }

  FileTable decode() {
    while (const auto line = lines_.next()) {
      line_ = lines_.number();
      add_row([&] { read_line(line->substr(0, line->find('#'))); });
    }
    require(table_.rows() > 0, ErrorKind::io, table_.name,
            ": expected lines 'label index:value ...', found none");
    table_.data.features = width_ > 0 ? width_ : largest_;
    require(table_.data.features > 0, ErrorKind::io, table_.name,
            ": expected features 'index:value', found only labels");
    return std::move(table_);
  }

 private:
  void read_line(std::string_view line) {
    const auto label = next_word(line);
    // What a line holds must not change the number of records where broken ones are kept.
    if (label.empty() && keep_broken_) fail(ErrorKind::io, place(), ": no record");
    if (label.empty()) return;
    table_.labels.push_back(require_number(label, "the label", [&] { return place(); }));
    table_.lines.push_back(line_);
    std::size_t previous = 0;
    for (auto word = next_word(line); !word.empty(); word = next_word(line))
      previous = read_feature(word, previous);
    table_.data.row_starts.push_back(table_.data.values.size());
  }

  std::size_t read_feature(std::string_view word, std::size_t previous) {
    std::size_t index = 0;
    const auto* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, index);
    if (error != std::errc{} || stop == end || *stop != ':')
      fail(ErrorKind::io, place(), ": expected index:value, found ", as_found(word));
    if (index == 0) fail(ErrorKind::io, place(), ": feature indices start at 1, found ", index);
    if (index <= previous)
      fail(ErrorKind::io, place(), ": feature indices must ascend, found ", index, " after ",
           previous);
    const auto limit = width_ > 0 ? width_ : kMaxFeatures;
    if (index > limit)
      fail(ErrorKind::io, place(), ": expected feature indices of at most ", limit, ", found ",
           index);
    const auto text = word.substr(static_cast<std::size_t>(stop - word.data()) + 1);
    const double value =
        require_number(text, "a feature", [&] { return concat(place(), ", feature ", index); });
    largest_ = std::max(largest_, index);
    if (value != 0) {
      table_.data.columns.push_back(static_cast<std::uint32_t>(index - 1));
      table_.data.values.push_back(static_cast<float>(value));
    }
    return index;
  }

  LineReader lines_;
  std::size_t width_, largest_ = 0;
};

}  // namespace

FileTable decode_libsvm(std::string_view bytes, const std::string& name, std::size_t features,
                        BrokenRows broken) {
  return LibsvmDecoder(bytes, name, features, broken).decode();
}

}  // namespace porter
