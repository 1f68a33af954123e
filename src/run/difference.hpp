// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace porter {

/// The first line in which two configs differ, ignoring what does not change results; empty if they
/// agree.
std::string first_difference(const std::string& a, const std::string& b);

/// Creates the folder and those above it. Error{io} names it and the reason.
void make_folder(const std::filesystem::path& path);

}  // namespace porter
