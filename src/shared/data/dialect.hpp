// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace porter {

/// The separators that are guessed: comma, semicolon, tab, bar.
inline constexpr std::string_view kSeparators = ",;\t|";

/// The one that cuts most of these lines into the same number of fields, and into most; a comma
/// where none is found. `text`: the first lines of a table, the last of which may be cut off.
char guess_separator(std::string_view text);

/// "comma", "semicolon", "tab", "bar", or the character in quotes: for people.
std::string_view separator_name(char separator);

}  // namespace porter
