// SPDX-License-Identifier: Apache-2.0
// Parsed files in a binary form that loads at the speed of the disk.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace porter {

/// The cache file of a table, and back. `key` says what it was made from. Nothing comes back unless
/// the bytes are whole and carry this key; what comes back is as valid as what a decoder of files
/// returns. The name stays empty.
std::string encode_table(const FileTable& table, std::string_view key);
std::optional<FileTable> decode_table(std::string_view bytes, std::string_view key);

struct CachedTable {
  FileTable table;
  bool rebuilt = false;  ///< there was a cache file, but a damaged one
};

/// What `make` gives, kept under a name in the folder `cache` if there is one and it can be
/// written. A copy is used where it carries the present key; one whose key changes meanwhile is not
/// kept. The cache only saves time: what goes wrong with it is no error. It holds copies of what
/// may not be for everybody: the folder is 0700 and a file 0600, and neither is used where it is a
/// link.
CachedTable keep_table(const std::optional<std::filesystem::path>& cache, const std::string& name,
                       const std::function<std::string()>& key_now,
                       const std::function<FileTable()>& make);

/// The same for what `parse` makes of files. The key is the SHA-256 of all source bytes and the
/// `features` asked for: a source that changed, even within a second or under an old date, is
/// parsed anew. Small files are parsed every time.
CachedTable load_table(const std::optional<std::filesystem::path>& cache,
                       const std::vector<std::string>& files, std::size_t features,
                       const std::function<FileTable()>& parse);

/// Removes a copy that an earlier load kept of them.
void forget_table(const std::filesystem::path& cache, const std::vector<std::string>& files,
                  std::size_t features);

}  // namespace porter
