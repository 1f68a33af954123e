// SPDX-License-Identifier: Apache-2.0
#include "config/difference.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "config/config_keys.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// Whether a key is about how a run is carried out and not about what it computes.
// A folder of networked agents is another thing than that of one process or of ranks.
bool is_irrelevant(const std::string& key, const std::string& a, const std::string& b) {
  static const auto kNetworked = concat('"', choice_text(EngineKind::tls), '"');
  const auto* known = find_key(key);
  return known != nullptr && known->scope == KeyScope::conduct && a != kNetworked &&
         b != kNetworked;
}

// A key as TOML writes it, bare or in quotes.
bool is_key(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"'))
    return text.back() == text.front();
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

}  // namespace

std::map<std::string, std::string> toml_keys(const std::string& toml) {
  std::map<std::string, std::string> keys;
  std::istringstream lines(toml);
  std::string line, section, key;
  while (std::getline(lines, line)) {
    line.erase(0, line.find_first_not_of(' '));
    const auto equals = line.find(" = ");
    if (line.starts_with('[') && line.ends_with(']')) {
      section = line.substr(1, line.size() - 2);
    } else if (equals != line.npos && is_key(std::string_view(line).substr(0, equals))) {
      key = (section.empty() ? "" : section + '.') + line.substr(0, equals);
      keys[key] = line.substr(equals + 3);
    } else if (!line.empty() && !key.empty()) {
      keys[key] += line;  // a list over several lines
    }
  }
  return keys;
}

std::string differing_keys(const std::map<std::string, std::string>& a, const std::string& name_a,
                           const std::map<std::string, std::string>& b, const std::string& name_b) {
  std::set<std::string> names;
  for (const auto* keys : {&a, &b})
    for (const auto& [key, value] : *keys) names.insert(key);
  const auto value_in = [](const auto& keys, const std::string& key) {
    const auto found = keys.find(key);
    return found == keys.end() ? std::string("nothing") : found->second;
  };
  std::string text;
  for (const auto& key : names) {
    const auto in_a = value_in(a, key), in_b = value_in(b, key);
    if (in_a == in_b) continue;
    text += concat(text.empty() ? "" : "; ", key, ": ", name_a, " says ", in_a, ", ", name_b,
                   " says ", in_b);
  }
  return text;
}

std::string config_difference(const std::string& old_config, const std::string& new_config) {
  auto before = toml_keys(old_config), now = toml_keys(new_config);
  std::erase_if(before, [&](const auto& entry) {
    const auto found = now.find(entry.first);
    const bool irrelevant =
        found != now.end() && is_irrelevant(entry.first, entry.second, found->second);
    if (irrelevant) now.erase(found);
    return irrelevant;
  });
  return differing_keys(before, "the folder", now, "this command");
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error, ErrorKind::io, "cannot create the folder ", path.string(), ": ", error.message());
}

void make_folder(const std::filesystem::path& path, const Config& config) {
  if (claims_guarantee(config))
    make_private_folder(path);
  else
    make_folder(path);
}

}  // namespace porter
