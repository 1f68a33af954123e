// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "porter/core/error.hpp"

namespace porter {

/// A value of an enumeration and the word that configs, options and files have for it.
template <class Enum>
struct Choice {
  std::string_view text;
  Enum value;
};

/// Specialised beside an enumeration that has words: `static constexpr Choice<Enum> table[]`.
template <class Enum>
struct Choices;

template <class Enum>
constexpr std::string_view choice_text(Enum value) {
  return std::ranges::find(Choices<Enum>::table, value, &Choice<Enum>::value)->text;
}

/// "a, b, c": the words of these values.
template <class Enum>
std::string choice_list(std::span<const Enum> values) {
  std::string list;
  for (const auto value : values) (list += list.empty() ? "" : ", ") += choice_text(value);
  return list;
}

/// All values that have a word.
template <class Enum>
constexpr auto all_choices() {
  std::array<Enum, std::size(Choices<Enum>::table)> values{};
  std::ranges::transform(Choices<Enum>::table, values.begin(), &Choice<Enum>::value);
  return values;
}

/// The value that a word stands for, if any.
template <class Enum>
constexpr std::optional<Enum> find_choice(std::string_view text) {
  for (const auto& choice : Choices<Enum>::table)
    if (choice.text == text) return choice.value;
  return std::nullopt;
}

/// The same, one of `allowed`. Error{usage} lists their words.
template <class Enum>
Enum parse_choice(std::string_view text, std::span<const Enum> allowed) {
  for (const auto value : allowed)
    if (choice_text(value) == text) return value;
  fail(ErrorKind::usage, "expected one of ", choice_list(allowed), "; found \"", text, "\"");
}
template <class Enum>
Enum parse_choice(std::string_view text) {
  static constexpr auto kAll = all_choices<Enum>();
  return parse_choice(text, std::span<const Enum>(kAll));
}

}  // namespace porter
