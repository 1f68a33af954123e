// SPDX-License-Identifier: Apache-2.0
// Tables of what can be chosen by name: rows with a member `name`.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "porter/core/error.hpp"

namespace porter {

/// "a, b, c"
template <class Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& row : table) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

/// The row of that name. Error{usage} lists the names; `key` stands before it.
template <class Table>
const auto& find_named(const Table& table, std::string_view name, std::string_view key = "") {
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&](const auto& r) { return r.name == name; });
  require(row != std::end(table), ErrorKind::usage, key, key.empty() ? "" : ": ",
          "expected one of ", names_of(table), "; found \"", name, "\"");
  return *row;
}

}  // namespace porter
