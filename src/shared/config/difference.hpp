// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "porter/config/config.hpp"

namespace porter {

/// Every key whose values differ, with both of them; empty if there is none.
std::string differing_keys(const std::map<std::string, std::string>& a, const std::string& name_a,
                           const std::map<std::string, std::string>& b, const std::string& name_b);

/// The same for the config in a folder and the one asked for now, leaving out what does not change
/// results.
std::string config_difference(const std::string& old_config, const std::string& new_config);

/// Creates the folder and those above it. Error{io} names it and the reason.
void make_folder(const std::filesystem::path& path);
/// The same for files of a run: with secret noise they are their owner's alone.
void make_folder(const std::filesystem::path& path, const Config& config);

}  // namespace porter
