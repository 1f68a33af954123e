// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// Puts the next bytes of a text into the buffer, all that fit unless they end, and says how many.
using ReadBytes = std::function<std::size_t(std::span<char>)>;
/// The same for a text in memory, which outlives it.
ReadBytes bytes_of(std::string_view text);

/// How a record may lie in its file.
enum class RecordLines {
  several,  ///< a quoted field may hold line ends
  one,      ///< every line is a record, whatever it holds: none can swallow the next
};

/// Walks the records of a text table: fields with a separator between them, in double quotes where
/// they hold it ("" is one quote), the lines ended by \n or \r\n, a byte-order mark before the
/// first. Keeps no more than the record that is read, and a chunk. Error{io} names the file and the
/// line: a quote that never closes, something behind a closing quote, a record without end. With
/// RecordLines::one only `fields` throws, so that the others can be read.
class CsvReader {
 public:
  /// Of one record. What is longer is taken for a file without lines, or a quote that never closes.
  static constexpr std::size_t kMaxRecord = std::size_t{64} << 20;

  CsvReader(ReadBytes read, std::string name, char separator,
            RecordLines lines = RecordLines::several);

  /// Goes to the next line that is not blank (RecordLines::one: to the next line); false at the
  /// end.
  bool next();
  /// Of this record; valid until the next. Blanks around a field are dropped unless in quotes.
  /// Error{io} where quotes are wrong or the line is too long.
  std::span<const std::string_view> fields();

  /// Where this record begins, from 1.
  std::size_t line() const { return line_; }
  /// "file, line 7"
  std::string place() const;
  const std::string& name() const { return name_; }

 private:
  [[noreturn]] void fail_overlong() const;
  bool find_record();
  bool fill();
  void require_text() const;
  void require_bounded(std::size_t bytes, bool in_quotes, std::size_t quote_line) const;
  void split();
  std::string_view take_quoted(std::size_t& at);

  ReadBytes read_;
  std::string name_;
  char separator_;
  RecordLines lines_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;    // of the record, without its line end
  std::size_t next_ = 0, filled_ = 0;  // where the next begins, and the buffer's content ends
  std::size_t line_ = 0, next_line_ = 1;
  bool ended_ = false, split_ = false;
  bool overlong_ = false;  // a line that no record may be, of which only the end is kept
  std::vector<std::string_view> fields_;
};

}  // namespace porter
