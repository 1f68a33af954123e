// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "data/catalog.hpp"

namespace porter {

/// SHA-256 of what the bytes say, however they are stored: unpacked by read_file before, and for
/// text with blanks at line ends dropped and every line ended by one newline, because copies in
/// circulation differ in these (Windows line ends, no last newline).
std::string content_sha256(std::string_view bytes, bool text);

/// Downloads the file into `folder` with the program curl, unless it is there and right: returns
/// whether it had to. An interrupted download is resumed. Content with a wrong checksum is removed
/// and is Error{io}; when no URL can be reached, Error{network} names them, the folder, and
/// PORTER_DATA. The file appears under its name only when it is whole.
bool fetch_file(const KnownFile& file, const std::filesystem::path& folder);

}  // namespace porter
