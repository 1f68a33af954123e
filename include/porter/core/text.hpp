// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace porter {

/// The whole text as a number, or nothing. Does not depend on the locale.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The shortest text that reads back as the same double; always has a '.' or an exponent.
std::string shortest(double value);

/// "name:argument" apart; the argument is empty where there is no colon.
struct Spec {
  std::string_view name, argument;
};
inline Spec split_spec(std::string_view spec) {
  const auto colon = spec.find(':');
  if (colon == spec.npos) return {spec, {}};
  return {spec.substr(0, colon), spec.substr(colon + 1)};
}

}  // namespace porter
