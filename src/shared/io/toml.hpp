// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace porter {

/// Error{usage} names the source, the line, and what is wrong.
toml::table parse_toml(std::string_view text, const std::string& source);

/// A table whose key "v" has the value that the text is; what is not TOML is a text.
toml::table parse_toml_value(const std::string& text, const std::string& source);

/// A value as a config would have it.
std::string toml_text(const toml::node& node);

/// Where a value of the file `source` was written: the file and line, or the option that set it.
std::string toml_place(const toml::node& node, const std::string& source);

/// A text as TOML has it: in double quotes, what needs it escaped.
std::string in_quotes(std::string_view text);

}  // namespace porter
