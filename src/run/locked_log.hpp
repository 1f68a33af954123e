// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace porter {

/// A text file that grows line by line, held by one process at a time.
class LockedLog {
 public:
  /// Opens or creates it. Error{io} "another WHO is working in this folder" if a process holds it.
  LockedLog(std::filesystem::path file, std::string_view who);
  ~LockedLog();
  LockedLog(const LockedLog&) = delete;
  LockedLog& operator=(const LockedLog&) = delete;

  const std::filesystem::path& file() const { return file_; }
  /// The whole lines. Half a line at the end, from a kill, is cut off the file.
  std::string read();
  /// On disk when this returns.
  void append(std::string_view text);
  void clear() { shorten(0); }

 private:
  void shorten(std::size_t size);

  std::filesystem::path file_;
  int fd_;
};

}  // namespace porter
