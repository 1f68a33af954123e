// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace porter {

/// JSON as it is written: on one line, or indented. What is not UTF-8, e.g. in the name of a file,
/// becomes U+FFFD; a result must not be lost for it.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Whether brackets nest deeper than anything of ours. What is read from a stranger must not: to
/// write a value, or to copy it, takes a call for each of its levels.
inline bool nests_deep(std::string_view text) {
  constexpr int kMostLevels = 64;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > kMostLevels) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

/// A whole number that Count can hold. The library's own conversion of others is undefined or
/// wraps.
template <class Count, class Json>
std::optional<Count> whole_number(const Json& json) {
  if (!json.is_number_unsigned() ||
      json.template get<std::uint64_t>() > std::numeric_limits<Count>::max())
    return std::nullopt;
  return json.template get<Count>();
}

/// The value, or null.
template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace porter
