// SPDX-License-Identifier: Apache-2.0
#include "io/toml.hpp"

#include <fmt/format.h>

#include <sstream>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxParts = 16;  // of a dotted key; ours have two

// Tables are nested as deep as keys have parts, and the parser and its destructors go down there
// one call per part. So a longer key is refused before it is parsed.
void refuse_deep_keys(std::string_view text, const std::string& source) {
  std::size_t line = 1, parts = 1;
  char quote = '\0';
  bool long_quote = false, comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      comment = false;
      parts = 1;
      if (!long_quote) quote = '\0';
    } else if (comment || (quote == '"' && c == '\\' && ++i < text.size())) {
    } else if (c == '"' || c == '\'') {
      const bool triple = text.substr(i, 3) == std::string(3, c);
      if (quote == '\0') {
        quote = c;
        long_quote = triple;
        if (triple) i += 2;
      } else if (quote == c && (!long_quote || triple)) {
        quote = '\0';
        // Before the last three there may be two more, which belong to the text.
        if (long_quote) i += std::min<std::size_t>(text.find_first_not_of(c, i) - i, 5) - 1;
        long_quote = false;
      }
    } else if (quote != '\0') {
    } else if (c == '#') {
      comment = true;
    } else if (c == '.') {
      require(++parts <= kMaxParts, ErrorKind::usage, source, ":", line,
              ": expected keys of at most ", kMaxParts, " parts, found a longer one");
    } else if (c == '=' || c == ',' || c == '{' || c == '}' || c == '[' || c == ']') {
      parts = 1;
    }
  }
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& source) {
  refuse_deep_keys(text, source);
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    fail(ErrorKind::usage, source, ":", error.source().begin.line,
         ": not valid TOML: ", error.description());
  }
}

toml::table parse_toml_value(const std::string& text, const std::string& source) {
  refuse_deep_keys(text, source);
  try {
    return toml::parse("v = " + text, source);
  } catch (const toml::parse_error&) {
    return toml::parse("v = " + toml_text(toml::value<std::string>(text)), source);
  }
}

std::string toml_text(const toml::node& node) {
  if (const auto* number = node.as_floating_point())  // 0.03, not 0.029999999999999999
    return shortest(number->get());
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

std::string toml_place(const toml::node& node, const std::string& source) {
  const auto& [begin, end, path] = node.source();
  if (path && *path != source)  // an option, or a part of the file that sets keys of another
    return path->starts_with("--") ? *path : source + ": " + *path;
  return begin.line > 0 ? concat(source, ":", begin.line) : source;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\u{:04x}", code);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace porter
