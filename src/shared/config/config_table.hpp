// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "io/toml.hpp"
#include "porter/config/config.hpp"

namespace porter {

// A config before it is understood: the steps from a text to a Config.

/// "section.key=value" into the table; `option` is what the user wrote it behind, and what errors
/// about the value name. The value is read as TOML; what is not TOML is a text.
void apply_override(toml::table& root, const std::string& override,
                    const std::string& option = "--set");

/// Both for a file, whose folder the files that it names are relative to.
toml::table load_toml(const std::filesystem::path& path, const std::vector<std::string>& overrides);

/// Relative files, also those of file:NAME, become absolute.
void resolve_paths(toml::table& root, const std::filesystem::path& folder);
/// The same for one value of the key "section.key", which stays as it is where it names no file.
std::string resolved_value(std::string_view key, const std::string& value,
                           const std::filesystem::path& folder);

/// Calls `use` with every "section.key" of a table and its value: both "algorithm.step" = ... and
/// algorithm = { step = ... }.
void flatten(const toml::table& table,
             const std::function<void(const std::string&, const toml::node&)>& use,
             const std::string& prefix = {});
/// A value as a list of them is written: texts in double quotes.
std::string value_text(const toml::node& node);

Config read_config(const toml::table& root, const std::string& source);

}  // namespace porter
