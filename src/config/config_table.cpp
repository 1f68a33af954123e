// SPDX-License-Identifier: Apache-2.0
#include "config/config_table.hpp"

#include <algorithm>

#include "config/config_keys.hpp"
#include "io/file.hpp"
#include "io/toml.hpp"
#include "porter/core/error.hpp"

namespace porter {

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
  // Moved, not copied: a node that is moved still knows where it comes from.
  table->insert_or_assign(key, std::move(*parse_toml_value(value, option).get("v")));
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
