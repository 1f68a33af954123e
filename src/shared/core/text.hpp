// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// A label as data files have it: -1 and not -1.0.
std::string label_text(double label);

/// Control characters become spaces: text from files and from other agents goes to terminals, logs
/// and XML, and must not be more than a line of text there.
std::string without_controls(std::string text);

/// What separates words on a line.
inline constexpr std::string_view kBlanks = " \t\r\v\f";

/// Cuts the next word off the front of `line`; empty when there is none.
inline std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const auto word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

/// "name:argument" or "name", as users write graphs, compressors, clips and the like.
struct Spec {
  std::string_view text, name;
  std::optional<std::string_view> argument;

  /// The argument as a number, or nothing where there is none or it is not one.
  template <class Number>
  std::optional<Number> number() const {
    return argument ? parse_number<Number>(*argument) : std::nullopt;
  }
};
inline Spec split_spec(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return {text, text, std::nullopt};
  return {text, text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace porter
