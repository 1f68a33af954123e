// SPDX-License-Identifier: Apache-2.0
#include "fact_differences.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::string_view kShown[] = {"data.classes", "data.features", "dim"};

std::string value_of(const std::map<std::string, std::string>& facts, const std::string& key) {
  constexpr std::size_t kMost = 60;
  const auto found = facts.find(key);
  if (found == facts.end()) return "nothing";
  return found->second.size() <= kMost ? found->second : found->second.substr(0, kMost) + "...";
}

}  // namespace

std::string fact_differences(const std::map<std::string, std::string>& ours,
                             const std::map<std::string, std::string>& theirs) {
  std::set<std::string> keys;
  for (const auto* facts : {&ours, &theirs})
    for (const auto& [key, value] : *facts) {
      const auto mine = ours.find(key), other = theirs.find(key);
      if (mine == ours.end() || other == theirs.end() || mine->second != other->second)
        keys.insert(key);
    }
  std::string text;
  for (const auto& key : keys) {
    text += (text.empty() ? "" : ", ") + (key.empty() ? "a key without a name" : key);
    if (std::ranges::find(kShown, key) != std::end(kShown))
      text += concat(" (", value_of(ours, key), " here, ", value_of(theirs, key), " there)");
  }
  return text;
}

}  // namespace porter
