// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "porter/core/error.hpp"

namespace porter {

std::optional<std::string_view> LineReader::next() {
  if (rest_.empty()) return std::nullopt;
  const auto end = rest_.find('\n');
  const auto line = rest_.substr(0, end);
  rest_ = end == rest_.npos ? std::string_view{} : rest_.substr(end + 1);
  ++number_;
  return line;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
  }
  return out + (text.size() > kShown ? "...'" : "'");
}

void fail_number(std::string_view text, std::string_view what, const std::string& place) {
  fail(ErrorKind::io, place, ": expected a finite number as ", what, ", found ",
       text.empty() ? "nothing" : quoted(text));
}

bool fits_float(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

}  // namespace porter
