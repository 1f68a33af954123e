// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/io/append_file.hpp"

namespace porter {

/// A text file that grows line by line, on disk, held by one process at a time: Error{io} "another
/// WHO is working in this folder".
class LockedLog : public AppendFile {
 public:
  LockedLog(std::filesystem::path file, std::string_view who)
      : AppendFile(
            std::move(file),
            {.sync = Sync::disk, .in_use = concat("another ", who, " is working in this folder")}) {
  }

  const std::filesystem::path& file() const { return path(); }
  std::string read() { return read_lines(); }
  void clear() { truncate(0); }
};

}  // namespace porter
