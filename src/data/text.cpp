// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"

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

std::optional<double> parse_signed(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return parse_number<double>(text);
}

// Neither overlong forms nor surrogates (RFC 3629).
bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = byte(i++);
    if (lead < 0x80) continue;
    const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || more > text.size() - i) return false;
    const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < least || byte(i) > most) return false;
    for (std::size_t k = 1; k < more; ++k)
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    i += more;
  }
  return true;
}

std::string as_found(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "'";
  const bool utf8 = is_utf8(text);
  auto end = std::min(text.size(), kShown);
  while (utf8 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  for (const char c : text.substr(0, end)) {
    if ((c >= ' ' && c <= '~') || (utf8 && static_cast<unsigned char>(c) >= 0x80))
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + (text.size() > end ? "...'" : "'");
}

void fail_number(std::string_view text, std::string_view what, const std::string& place) {
  fail(ErrorKind::io, place, ": expected a finite number as ", what, ", found ",
       text.empty() ? "nothing" : as_found(text));
}

bool fits_float(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

TextTable::TextTable(const std::string& name, std::size_t features, BrokenRows broken)
    : table_{.name = name}, keep_broken_(broken == BrokenRows::keep && features > 0) {
  require(features <= kMaxFeatures, ErrorKind::usage, "features: expected at most ", kMaxFeatures,
          ", found ", features);
  table_.data.features = features;
}

// In place of row `row`, the last one, which was read in part or not at all.
void TextTable::add_void(std::size_t row) {
  auto& data = table_.data;
  table_.labels.resize(row * data.outputs);
  table_.labels.resize((row + 1) * data.outputs, 0.0);
  table_.lines.resize(row);
  table_.lines.push_back(line_);
  if (data.sparse()) {
    data.row_starts.resize(row + 1);
    data.values.resize(data.row_starts[row]);
    data.columns.resize(data.row_starts[row]);
    data.row_starts.push_back(data.values.size());
  } else {
    data.values.resize(row * data.features);
    data.values.resize((row + 1) * data.features, 0.0F);
  }
  if (weighted_) {
    data.weights.resize(row);
    data.weights.push_back(0);
  }
  data.voids.resize(row);
  data.voids.push_back(1);
}

}  // namespace porter
