// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "core/registry.hpp"
#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {

enum class Argument { none, optional, required };

/// The row of a registry table (with members name, example, argument) that the spec names, checked
/// to have an argument where it needs one. `kind` is what errors call it: "graph", "mixing".
template <class Table>
const auto& find_row(const Table& table, const Spec& spec, std::string_view kind) {
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&](const auto& r) { return r.name == spec.name; });
  require(row != std::end(table), ErrorKind::usage, "unknown ", kind, " '", spec.text,
          "', expected one of: ", names_of(table));
  require(row->argument != Argument::none || !spec.argument, ErrorKind::usage, kind, " '",
          spec.text, "': ", spec.name, " takes no argument");
  require(row->argument != Argument::required || !spec.argument.value_or("").empty(),
          ErrorKind::usage, kind, " '", spec.text, "': an argument is missing, as in ",
          row->example);
  return *row;
}

}  // namespace porter
