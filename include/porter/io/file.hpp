// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace porter {

/// The whole content. A gzip file (by its first two bytes, whatever its name) comes back unpacked;
/// a truncated or damaged one is Error{io}. `max_bytes` limits what is read into memory.
std::string read_file(const std::filesystem::path& path,
                      std::size_t max_bytes = std::size_t{1} << 33);

/// The bytes as they are, packed or not.
std::string read_raw_file(const std::filesystem::path& path);

/// Writes beside the target; finish() flushes to disk and renames. After any failure, or without
/// finish(), the old content or nothing is there, never half of the new. Error{io} names the path
/// and the reason.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view bytes);
  void finish();

 private:
  [[noreturn]] void fail_to(const char* action) const;

  std::filesystem::path path_, temporary_;
  int fd_;
};

/// Lets the new name of a file survive a power cut; false if the disk cannot. File systems that
/// know no such thing are fine.
bool sync_name(const std::filesystem::path& file);

/// Whether a folder holds nothing but what a killed FileWriter left behind.
bool holds_nothing(const std::filesystem::path& folder);

/// All of it at once.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Lower-case hexadecimal SHA-256 of the bytes.
std::string sha256_hex(std::string_view content);

}  // namespace porter
