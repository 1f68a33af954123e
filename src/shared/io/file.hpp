// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace porter {

/// A file descriptor that is closed on every path.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// What an open file holds, from its start, or what still comes through a pipe. Nothing where that
/// fails, and errno says why.
std::optional<std::string> read_all(int fd);

/// The whole content, unpacked as by InputStream. `max_bytes` limits what is read into memory.
std::string read_file(const std::filesystem::path& path,
                      std::size_t max_bytes = std::size_t{1} << 33);

/// The bytes as they are, packed or not.
std::string read_raw_file(const std::filesystem::path& path);

/// Creates the folder and those above it. Only its owner may enter it, whatever the umask and
/// whatever its mode was, and what this library writes into it is its owner's alone. Error{io}
/// names it and the reason.
void make_private_folder(const std::filesystem::path& path);

/// open(2) of a file to write. A symbolic link is not followed, and what is no plain file is
/// refused. In a folder that only its owner may enter the file has the mode 0600, whatever the
/// umask; elsewhere the umask decides. -1, and errno says why.
int open_plain(const std::filesystem::path& path, int flags);

/// Why the last call failed, by errno.
std::string reason();
/// The same of open_plain; links by name.
std::string open_reason();

/// A stream that writes behind the end of a file, made if it is not there, by open_plain.
/// Error{io}.
using FileStream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
FileStream open_to_append(const std::filesystem::path& path);

/// Writes beside the target, to a file with a name that nobody can guess; finish() flushes to disk
/// and renames. After any failure, or without finish(), the old content or nothing is there, never
/// half of the new. The mode is that of open_plain. Error{io} names the path and the reason.
///
/// A `spare` is a file that is there no more afterwards, and whose place on the disk and in memory
/// the new one takes: that costs half of what new pages do. One that has another name, too, which a
/// backup may have given it, is only removed.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path, const std::filesystem::path& spare = {});
  ~FileWriter();

  void write(std::string_view bytes);
  void finish();
  /// The same without waiting for the disk: after a power cut it may be gone.
  void finish_soon();

 private:
  void cut();
  [[noreturn]] void fail_to(const char* action) const;

  std::filesystem::path path_, temporary_;
  FileDescriptor fd_;
  std::size_t size_ = 0;  // of what was written
};

/// Lets the new name of a file survive a power cut; false if the disk cannot. File systems that
/// know no such thing are fine.
bool sync_name(const std::filesystem::path& file);

/// Whether a folder holds nothing but what a killed FileWriter left behind, and files with these
/// extensions.
bool holds_nothing(const std::filesystem::path& folder,
                   std::initializer_list<std::string_view> but = {});

/// All of it at once.
void write_file(const std::filesystem::path& path, std::string_view content);
/// The same with finish_soon: for whoever looks.
void write_file_soon(const std::filesystem::path& path, std::string_view content);

/// Lower-case hexadecimal SHA-256 of the bytes.
std::string sha256_hex(std::string_view content);

}  // namespace porter
