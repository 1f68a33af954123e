// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace porter {

/// The bytes of a file, or of the standard input for "-", piece by piece. gzip and Zstandard data
/// come out unpacked; they are known by their first bytes, whatever the file is called. Error{io}
/// names the file and what is wrong: it cannot be opened, is a folder, is truncated or damaged.
class InputStream {
 public:
  explicit InputStream(std::string path);
  ~InputStream();

  /// Fills the buffer, all of it unless the bytes end, and returns how many there are.
  std::size_t read(std::span<char> buffer);

  /// What errors call it.
  const std::string& name() const { return name_; }
  /// How much of the file has been read; nothing where its size is not known.
  std::optional<double> share() const;

 private:
  class Source;
  class Unpacker;
  class Gzip;
  class Zstandard;

  std::string name_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Unpacker> unpacker_;  // null for bytes that are not packed
};

}  // namespace porter
