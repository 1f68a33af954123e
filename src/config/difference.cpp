// SPDX-License-Identifier: Apache-2.0
#include "config/difference.hpp"

#include <set>

#include "config/config_keys.hpp"
#include "config/config_table.hpp"
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

// "section.key" -> value
std::map<std::string, std::string> values_of(const std::string& toml, const std::string& source) {
  std::map<std::string, std::string> values;
  flatten(parse_toml(toml, source),
          [&](const std::string& key, const toml::node& node) { values[key] = value_text(node); });
  return values;
}

}  // namespace

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
  auto before = values_of(old_config, "the folder's config");
  auto now = values_of(new_config, "this config");
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
