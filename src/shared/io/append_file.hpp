// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/file.hpp"
#include "porter/core/error.hpp"

struct stat;

namespace porter {

/// A file that grows at its end. It is opened by open_plain, so no link is followed. Whatever fails
/// is an Error of the kind in the options, with path and reason; after a failed append there may be
/// a part of the bytes behind the old end.
class AppendFile {
 public:
  /// Which crash the bytes survive once append() has returned. Half of an append that was cut short
  /// may be found by the next process either way.
  enum class Sync {
    process,  ///< the end of this process, a kill included; a power cut may take them
    disk,     ///< a power cut, too: they and the length of the file are on disk
  };
  struct Options {
    Sync sync = Sync::process;
    ErrorKind error = ErrorKind::io;
    /// Where it is not empty, the file is locked for as long as this object lives, and this is what
    /// who comes second is told, with the process that was first where the system knows it.
    std::string in_use = {};
  };

  /// The file that is there, or an empty one.
  AppendFile(std::filesystem::path path, Options options);
  /// Only one that is there.
  static AppendFile open_existing(std::filesystem::path path, Options options);
  /// A new file for its owner only, whose first bytes are on disk before it has its name: a crash
  /// leaves all of them or no file. An Error where one is there.
  static AppendFile create(std::filesystem::path path, std::string_view first, Options options);

  const std::filesystem::path& path() const { return path_; }
  std::string read() const;
  /// The whole lines; half a line at the end, from a kill, is cut off the file.
  std::string read_lines();

  void append(std::string_view bytes);
  /// Writes over what lies behind the first `size` bytes and is not longer than these. Until then
  /// it stays as it is: for a tail that counts.
  void replace_tail(std::size_t size, std::string_view bytes);
  void truncate(std::size_t size);

  /// Throws unless the file is where it was opened and as long as this. A renamed one would go on
  /// growing under another name while the next process finds what lies at the path.
  void require_untouched(std::size_t size) const;

 private:
  AppendFile(std::filesystem::path path, Options options, int fd);
  template <class... Parts>
  void check(bool condition, const Parts&... parts) const;
  void lock() const;
  struct stat status() const;
  std::size_t size() const;
  void sync() const;

  std::filesystem::path path_;
  Options options_;
  FileDescriptor fd_;
};

}  // namespace porter
