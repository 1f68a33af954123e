// SPDX-License-Identifier: Apache-2.0
#include "file_journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"
#include "porter/io/file.hpp"

namespace porter {
namespace {

// A record: round (4), number of values (4), the values as doubles, CRC-32 of all that (4).
constexpr std::size_t kHead = 8, kChecksum = 4;
constexpr std::string_view kMagic = "porterj1";

}  // namespace

FileJournal::FileJournal(std::filesystem::path path)
    : path_(std::move(path)), existed_(std::filesystem::exists(path_)) {
  if (existed_)
    read();
  else
    write_file(path_, kMagic);
  open();
}

void FileJournal::read() {
  const auto content = read_raw_file(path_);
  const auto bytes = std::as_bytes(std::span(content));
  require(content.starts_with(kMagic), ErrorKind::privacy, path_.string(),
          ": not a journal of releases");
  std::size_t at = kMagic.size();
  while (bytes.size() - at >= kHead) {
    ByteReader head(bytes.subspan(at, kHead));
    const auto round = head.get<std::uint32_t>();
    const std::size_t size = kHead + 8 * std::size_t{head.get<std::uint32_t>()};
    if (bytes.size() - at < size + kChecksum) break;  // cut off
    const auto record = bytes.subspan(at, size);
    const bool whole = crc32(record) == ByteReader(bytes.subspan(at + size)).get<std::uint32_t>();
    const bool last = at + size + kChecksum == bytes.size();
    require(whole || last, ErrorKind::privacy, path_.string(), ": the record of round ", round,
            " at byte ", at, " is damaged");
    if (!whole) break;
    auto& values = known_[round];
    values.resize((size - kHead) / 8);
    std::memcpy(values.data(), record.data() + kHead, size - kHead);
    at += size + kChecksum;
  }
  write_file(path_, std::string_view(content).substr(0, at));
}

void FileJournal::open() {
  file_.reset(std::fopen(path_.c_str(), "ae"));
  require(file_ != nullptr, ErrorKind::privacy, "cannot open ", path_.string(), ": ",
          std::strerror(errno));
}

bool FileJournal::recall(std::size_t, std::uint32_t round, std::span<double> g) {
  const auto found = known_.find(round);
  if (found == known_.end()) return false;
  require(found->second.size() == g.size(), ErrorKind::privacy, path_.string(), ": round ", round,
          " has ", found->second.size(), " values, ", g.size(), " expected");
  std::ranges::copy(found->second, g.begin());
  return true;
}

void FileJournal::record(std::size_t, std::uint32_t round, std::span<const double> g) {
  Payload bytes;
  put(bytes, round);
  put(bytes, static_cast<std::uint32_t>(g.size()));
  const auto values = std::as_bytes(g);
  bytes.insert(bytes.end(), values.begin(), values.end());
  put(bytes, crc32(bytes));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() &&
                       std::fflush(file_.get()) == 0 && ::fdatasync(::fileno(file_.get())) == 0;
  require(written, ErrorKind::privacy, "cannot write ", path_.string(), ": ", std::strerror(errno),
          "; the round was not released");
}

void FileJournal::clear() {
  write_file(path_, kMagic);
  open();
  known_.clear();
}

}  // namespace porter
