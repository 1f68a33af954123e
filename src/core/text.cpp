// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <array>
#include <cmath>

namespace porter {

std::string shortest(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  // "nan" and "inf" contain an n; everything else that looks like an integer gets its point.
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}

std::string label_text(double label) {
  const bool whole = label == std::floor(label) && std::abs(label) <= 1e9;
  return whole ? std::to_string(static_cast<std::int64_t>(label)) : shortest(label);
}

std::string without_controls(std::string text) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

}  // namespace porter
