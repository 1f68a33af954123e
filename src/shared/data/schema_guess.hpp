// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/text_input.hpp"
#include "porter/data/schema.hpp"

namespace porter {

struct GuessOptions {
  /// Names, or places from 1; none: the last column. Several are the targets of a regression.
  std::vector<std::string> labels = {};
  std::string weight = {};             ///< a name, or a place from 1; empty: none
  std::optional<char> separator = {};  ///< instead of guessing it
  std::optional<bool> header = {};
  std::vector<std::string> drop = {};  ///< columns that are not to be used
  std::size_t most_values = 50;        ///< a text with more different ones is dropped
};

/// What a column of a file was found to hold.
struct ColumnFinding {
  std::string name;
  std::size_t numbers = 0, missing = 0, different = 0;  ///< different: counted up to a limit
  bool more = false;                                    ///< whether there are more than that
  double least = 0, most = 0;                           ///< of the numbers
  std::string why;                                      ///< it became what it is in the schema
};

/// A first draft of a schema from one owner's file, for people to correct: ranges and values come
/// from its records.
struct SchemaGuess {
  Schema schema;
  std::size_t records = 0;
  std::vector<ColumnFinding> columns;  ///< all of the file, labels too, in its order
};

/// Reads the whole table once and keeps a few values of each column. Error{io} names the place,
/// Error{usage} what was asked for and is not there.
SchemaGuess guess_schema(TextInput& input, const GuessOptions& options);

/// The schema as a file, with comments that say where it came from and what to check.
std::string draft_text(const SchemaGuess& guess, const std::string& source);

}  // namespace porter
