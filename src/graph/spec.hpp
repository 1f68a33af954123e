// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace porter {

/// "name:argument" or "name", as users write graphs and mixing rules.
struct Spec {
  std::string_view text, name;
  std::optional<std::string_view> argument;
};

inline Spec split_spec(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return {text, text, std::nullopt};
  return {text, text.substr(0, colon), text.substr(colon + 1)};
}

/// The whole text as a number, or nothing.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace porter
