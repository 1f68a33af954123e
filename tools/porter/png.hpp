// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace porter::cli {

/// Puts a .png beside every .svg of the folder, if rsvg-convert is installed. Returns how many.
std::size_t write_pngs(const std::filesystem::path& folder);

}  // namespace porter::cli
