// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "paths.hpp"

namespace porter {

/// The folder with the real data sets: $PORTER_DATA, or shared/data beside the repository. Tests
/// without it skip, visibly: GTEST_SKIP() << kNoRealData.
inline std::optional<std::filesystem::path> real_data_folder() {
  if (const char* given = std::getenv("PORTER_DATA"); given != nullptr && *given != '\0')
    return given;
  auto beside = std::filesystem::path(source_dir()).parent_path() / "shared" / "data";
  if (std::filesystem::is_directory(beside)) return beside;
  return std::nullopt;
}

inline constexpr const char* kNoRealData =
    "no real data: set PORTER_DATA to a folder with a9a, mnist, ... (see docs/data.md)";

}  // namespace porter
