// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/data/image.hpp"

namespace porter {

/// A file of a known data set.
struct KnownFile {
  std::string name;               ///< below a data folder, as fetched, e.g. "mnist/x.gz" or "a9a"
  std::vector<std::string> urls;  ///< its home and mirrors, in the order to try
  std::string sha256;             ///< of its content, see content_sha256
  bool text = false;              ///< whether the content is text
};

/// A data set that has a name.
struct KnownData {
  std::string name, what;
  std::size_t train_rows = 0, test_rows = 0;  ///< test_rows = 0: it has no test set
  std::size_t features = 0;                   ///< without the bias column
  ImageShape image = {};                      ///< where records are images
  std::vector<double> classes;                ///< the labels in its files, ascending
  std::vector<KnownFile> files = {};          ///< train then test; empty: built in
  std::string licence, citation = {};
};

const std::vector<KnownData>& known_data();
/// The data.name of rows that a program has in memory: in no catalog, and no file of it is known.
inline constexpr std::string_view kGivenData = "given";
/// Error{usage} listing the known names.
const KnownData& known_data(std::string_view name);

/// Where files are looked for, in this order.
struct DataFolders {
  std::optional<std::filesystem::path> given;  ///< $PORTER_DATA
  std::optional<std::filesystem::path> cache;  ///< what fetch fills and generators may keep
};
/// From the environment: $PORTER_DATA, and ($XDG_CACHE_HOME or $HOME/.cache)/porter/data.
DataFolders data_folders();

/// The file, packed (.gz) or not, with its sub-folder or without; nothing if it is in no folder.
std::optional<std::filesystem::path> find_data_file(const KnownFile& file,
                                                    const DataFolders& folders);

/// "PORTER_DATA (unset) or /home/ann/.cache/porter/data", for messages.
std::string describe(const DataFolders& folders);

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
