// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>

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

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    if (c >= ' ' && c <= '~')
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + (text.size() > kShown ? "...'" : "'");
}

void fail_number(std::string_view text, std::string_view what, const std::string& place) {
  fail(ErrorKind::io, place, ": expected a finite number as ", what, ", found ",
       text.empty() ? "nothing" : quoted(text));
}

bool fits_float(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

TextTable::TextTable(std::string_view bytes, const std::string& name, std::size_t features,
                     BrokenRows broken)
    : lines_(bytes),
      table_{.name = name},
      keep_broken_(broken == BrokenRows::keep && features > 0) {
  require(features <= kMaxFeatures, ErrorKind::usage, "features: expected at most ", kMaxFeatures,
          ", found ", features);
  require(!bytes.empty(), ErrorKind::io, name, ": the file is empty");
  table_.data.features = features;
}

// In place of row `row`, the last one, which was read in part or not at all.
void TextTable::add_void(std::size_t row) {
  auto& data = table_.data;
  table_.labels.resize(row);
  table_.labels.push_back(0);
  table_.lines.resize(row);
  table_.lines.push_back(lines_.number());
  if (data.sparse()) {
    data.row_starts.resize(row + 1);
    data.values.resize(data.row_starts[row]);
    data.columns.resize(data.row_starts[row]);
    data.row_starts.push_back(data.values.size());
  } else {
    data.values.resize(row * data.features);
    data.values.resize((row + 1) * data.features, 0.0F);
  }
  data.voids.resize(row);
  data.voids.push_back(1);
}

}  // namespace porter
