// SPDX-License-Identifier: Apache-2.0
#include "fact_differences.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::string_view kShown[] = {"data.classes", "data.features", "dim"};

using Facts = std::map<std::string, std::string>;

std::string value_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? "nothing" : found->second;
}

// A long text is cut to where it begins to differ from the other.
std::string excerpt(const std::string& text, const std::string& other) {
  constexpr std::size_t kMost = 60, kBefore = 12;
  if (text.size() <= kMost) return text;
  const auto differs =
      static_cast<std::size_t>(std::ranges::mismatch(text, other).in1 - text.begin());
  const auto begin = differs <= kMost - kBefore ? 0 : differs - kBefore;
  return concat(begin > 0 ? "..." : "", text.substr(begin, kMost),
                begin + kMost < text.size() ? "..." : "");
}

}  // namespace

std::string fact_differences(const Facts& ours, const Facts& theirs) {
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
    if (std::ranges::find(kShown, key) == std::end(kShown)) continue;
    const auto here = value_of(ours, key), there = value_of(theirs, key);
    text += concat(" (", excerpt(here, there), " here, ", excerpt(there, here), " there)");
  }
  return text;
}

}  // namespace porter
