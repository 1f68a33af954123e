// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace porter {

/// A name that C++ allows and nobody else has: other characters become underscores, and what is a
/// keyword, a common macro or in `taken` gets a number behind it. Adds it to `taken`.
std::string cpp_identifier(std::string_view name, std::set<std::string>& taken);

/// The same for a namespace: no name of a C function either.
std::string cpp_namespace(std::string_view name);

/// The text as a literal of type std::string_view, with what is not printable ASCII as \ooo.
std::string cpp_literal(std::string_view text);

}  // namespace porter
