// SPDX-License-Identifier: Apache-2.0
// What the columns of a table hold, as a table of its own.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "data/schema_guess.hpp"

namespace porter::cli {

inline constexpr std::array kFindingHeads = {"column", "kind", "missing", "different", "numbers"};

/// Whether they are numbers.
inline constexpr bool is_count_column(std::size_t c) { return c == 2 || c == 3; }

/// The cells under these heads, a row for each column of the file.
std::vector<std::vector<std::string>> finding_rows(const SchemaGuess& found);
/// To the standard output.
void print_findings(const SchemaGuess& found);

}  // namespace porter::cli
