// SPDX-License-Identifier: Apache-2.0
// Shared by the readers of text files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "table.hpp"

namespace porter {

/// Walks the lines of a text; a last line without an end counts.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  /// The next line without its end, or nothing.
  std::optional<std::string_view> next();
  /// Of the line last returned, from 1.
  std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

std::string_view trim(std::string_view text);

/// The whole text as a number, a leading plus allowed; nothing if it is not one. May be nan or inf.
std::optional<double> parse_signed(std::string_view text);

bool is_utf8(std::string_view text);

/// The text for an error message: in quotes, cut if long, unprintable bytes and what is not UTF-8
/// as \xNN.
std::string as_found(std::string_view text);

/// Whether single precision can hold it: false for nan, inf and what is too large.
bool fits_float(double value);
[[noreturn]] void fail_number(std::string_view text, std::string_view what,
                              const std::string& place);

/// As parse_signed, but a text that is no number, or one that single precision cannot hold, is
/// Error{io} "PLACE: expected a finite number as WHAT, found 'TEXT'". `place` is
/// called only then: this runs once per number of a file.
template <class Place>
double require_number(std::string_view text, std::string_view what, const Place& place) {
  const auto value = parse_signed(text);
  if (!value || !fits_float(*value)) fail_number(text, what, place());
  return *value;
}

/// The table of a text file, filled row by row from its lines.
class TextTable {
 public:
  /// `features` is how wide the rows are, or 0. Only then can broken rows be kept.
  TextTable(const std::string& name, std::size_t features, BrokenRows broken);

 protected:
  /// "file, line 7", the line that is being read.
  std::string place() const { return concat(table_.name, ", line ", line_); }

  /// `read` adds a row to the table, with its line number. Where it cannot, and broken rows are
  /// kept, the row counts for nothing.
  template <class Read>
  void add_row(const Read& read) {
    const auto row = table_.rows();
    try {
      read();
    } catch (const Error&) {
      if (!keep_broken_) throw;
      add_void(row);
    }
  }

  std::size_t line_ = 0;
  FileTable table_;
  bool keep_broken_;
  bool weighted_ = false;  ///< whether rows have a weight

 private:
  void add_void(std::size_t row);
};

}  // namespace porter
