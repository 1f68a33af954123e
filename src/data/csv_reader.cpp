// SPDX-License-Identifier: Apache-2.0
#include "data/csv_reader.hpp"

#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"
#include "text.hpp"

namespace porter {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Follows a record from its first byte: a quote opens only where a field begins.
struct QuoteState {
  bool open = false;

  /// Whether this byte opens a quoted field.
  bool sees(char c, char separator) {
    const bool doubled = std::exchange(closed_, false) && c == '"';
    if (open) {
      open = c != '"';
      closed_ = !open;
      return false;
    }
    if (doubled) {
      open = true;
      return false;
    }
    const bool opens = at_start_ && c == '"';
    open = opens;
    at_start_ = c == separator || (at_start_ && is_blank(c));
    return opens;
  }

 private:
  bool at_start_ = true;  // of a field
  bool closed_ = false;   // by the byte before
};

}  // namespace

ReadBytes bytes_of(std::string_view text) {
  return [text](std::span<char> buffer) mutable {
    const auto count = std::min(text.size(), buffer.size());
    std::copy_n(text.begin(), count, buffer.begin());
    text.remove_prefix(count);
    return count;
  };
}

CsvReader::CsvReader(ReadBytes read, std::string name, char separator, RecordLines lines)
    : read_(std::move(read)), name_(std::move(name)), separator_(separator), lines_(lines) {
  fill();
  require_text();
  const std::string_view start(buffer_.data(), filled_);
  if (start.starts_with(kByteOrderMark)) next_ = kByteOrderMark.size();
}

void CsvReader::require_text() const {
  const std::string_view start(buffer_.data(), filled_);
  require(!start.starts_with("\xFF\xFE") && !start.starts_with("\xFE\xFF"), ErrorKind::io, name_,
          ": expected UTF-8 text, found UTF-16; save it as UTF-8");
  require(lines_ == RecordLines::one || start.find('\0') == start.npos, ErrorKind::io, name_,
          ": expected a table as text, found binary data");
}

std::string CsvReader::place() const { return concat(name_, ", line ", line_); }

// Drops what lies before the record, and reads behind what there is.
bool CsvReader::fill() {
  if (ended_) return false;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
  next_ -= begin_;
  end_ -= begin_;
  filled_ -= begin_;
  begin_ = 0;
  buffer_.resize(std::max(buffer_.size(), filled_ + kReadBytes));
  const auto room = std::span(buffer_).subspan(filled_, kReadBytes);
  const auto count = read_(room);
  ended_ = count < room.size();
  filled_ += count;
  return count > 0;
}

bool CsvReader::next() {
  while (find_record()) {
    split_ = false;
    const std::string_view record(buffer_.data() + begin_, end_ - begin_);
    if (lines_ == RecordLines::one || !trim(record).empty()) return true;
  }
  return false;
}

// The bytes up to a line end that is outside quotes.
bool CsvReader::find_record() {
  begin_ = next_;
  line_ = next_line_;
  overlong_ = false;
  QuoteState quote;
  std::size_t quote_line = 0;
  for (std::size_t at = begin_;; ++at) {
    while (at == filled_) {
      if (lines_ == RecordLines::one && at - begin_ > kMaxRecord) {
        overlong_ = true;
        begin_ = at;
      }
      const auto read = at - begin_;
      require_bounded(read, quote.open, quote_line);
      const bool more = fill();
      at = begin_ + read;
      if (more) continue;
      require(!quote.open, ErrorKind::io, name_, ", line ", quote_line,
              ": a quote is opened here and never closed");
      end_ = next_ = at;
      return read > 0 || overlong_;
    }
    const char c = buffer_[at];
    if (lines_ == RecordLines::several && quote.sees(c, separator_)) quote_line = next_line_;
    if (c != '\n') continue;
    ++next_line_;
    if (quote.open) continue;
    end_ = at;
    next_ = at + 1;
    return true;
  }
}

void CsvReader::require_bounded(std::size_t bytes, bool in_quotes, std::size_t quote_line) const {
  if (bytes <= kMaxRecord) return;
  if (in_quotes)
    fail(ErrorKind::io, name_, ", line ", quote_line, ": a quote is opened here and not closed in ",
         kMaxRecord >> 20, " MiB");
  fail_overlong();
}

void CsvReader::fail_overlong() const {
  fail(ErrorKind::io, place(), ": expected a line of at most ", kMaxRecord >> 20,
       " MiB, found a longer one");
}

std::span<const std::string_view> CsvReader::fields() {
  if (overlong_) fail_overlong();
  if (!split_) split();
  split_ = true;
  return fields_;
}

void CsvReader::split() {
  fields_.clear();
  auto at = begin_;
  while (true) {
    while (at < end_ && is_blank(buffer_[at]) && buffer_[at] != separator_) ++at;
    if (at < end_ && buffer_[at] == '"') {
      fields_.push_back(take_quoted(at));
    } else {
      const auto* start = buffer_.data() + at;
      const auto* stop =
          std::find(start, static_cast<const char*>(buffer_.data() + end_), separator_);
      fields_.push_back(trim({start, static_cast<std::size_t>(stop - start)}));
      at += static_cast<std::size_t>(stop - start);
    }
    if (at == end_) return;
    ++at;  // the separator
  }
}

// From a quote to the separator or the record's end behind the field, which is put together in
// place.
std::string_view CsvReader::take_quoted(std::size_t& at) {
  const auto start = ++at;
  auto write = start;
  while (true) {
    require(at < end_, ErrorKind::io, place(), ": a quote is opened and never closed in this line");
    if (buffer_[at] == '"') {
      if (at + 1 == end_ || buffer_[at + 1] != '"') break;
      ++at;
    }
    buffer_[write++] = buffer_[at++];
  }
  const std::string_view field(buffer_.data() + start, write - start);
  for (++at; at < end_ && buffer_[at] != separator_; ++at)
    require(is_blank(buffer_[at]), ErrorKind::io, place(), ", column ", fields_.size() + 1,
            ": expected the separator behind a closing quote, found ",
            as_found({buffer_.data() + at, 1}));
  return field;
}

}  // namespace porter
