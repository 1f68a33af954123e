// SPDX-License-Identifier: Apache-2.0
#include "config/config_table.hpp"

#include <algorithm>

#include "config/config_keys.hpp"
#include "config/toml_section.hpp"
#include "io/file.hpp"
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

void flatten(const toml::table& table,
             const std::function<void(const std::string&, const toml::node&)>& use,
             const std::string& prefix) {
  for (const auto& [name, node] : table) {
    const auto key = prefix + std::string(name.str());
    if (const auto* inner = node.as_table())
      flatten(*inner, use, key + '.');
    else
      use(key, node);
  }
}

std::string value_text(const toml::node& node) {
  return node.is_string() ? '"' + *node.value<std::string>() + '"' : toml_text(node);
}

void apply_override(toml::table& root, const std::string& override, const std::string& option) {
  const auto equals = override.find('=');
  const auto dot = override.find('.');
  require(equals != override.npos && dot < equals && dot > 0 && dot + 1 < equals, ErrorKind::usage,
          option, ": expected section.key=value, found \"", override, "\"");
  const std::string section = override.substr(0, dot);
  const std::string key = override.substr(dot + 1, equals - dot - 1);
  const std::string value = override.substr(equals + 1);
  if (!root.contains(section)) root.insert(section, parse_toml("", option));
  auto* table = root.get(section)->as_table();
  require(table != nullptr, ErrorKind::usage, option, ": ", section, " is not a section");
  refuse_deep_keys(value, option);
  auto parsed = [&] {
    try {
      return toml::parse("v = " + value, option);
    } catch (const toml::parse_error&) {
      return toml::parse("v = " + toml_text(toml::value<std::string>(value)), option);
    }
  }();
  // Moved, not copied: a node that is moved still knows where it comes from.
  table->insert_or_assign(key, std::move(*parsed.get("v")));
}

std::string resolved_value(std::string_view key, const std::string& value,
                           const std::filesystem::path& folder) {
  const auto* known = find_key(key);
  if (known == nullptr) return value;
  return with_file(*known, value, [&](const std::string& file) {
    return (folder / file).lexically_normal().string();
  });
}

void resolve_paths(toml::table& root, const std::filesystem::path& folder) {
  for (auto&& [section, node] : root) {
    auto* table = node.as_table();
    if (table == nullptr) continue;
    for (auto&& [key, value] : *table)
      if (auto* text = value.as_string())
        *text = resolved_value(concat(section.str(), '.', key.str()), text->get(), folder);
  }
}

toml::table load_toml(const std::filesystem::path& path,
                      const std::vector<std::string>& overrides) {
  auto root = parse_toml(read_file(path, 1U << 20), path.string());
  for (const auto& override : overrides) apply_override(root, override);
  resolve_paths(root, std::filesystem::absolute(path).parent_path());
  return root;
}

}  // namespace porter
