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

JournalView decode_journal(std::span<const std::byte> bytes, const std::string& source) {
  const auto magic = std::as_bytes(std::span(kMagic));
  require(bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic),
          ErrorKind::privacy, source, ": not a journal of releases");
  JournalView view{{}, magic.size()};
  while (bytes.size() - view.end >= kHead) {
    ByteReader head(bytes.subspan(view.end, kHead));
    const auto round = head.get<std::uint32_t>();
    const std::size_t size = kHead + 8 * std::size_t{head.get<std::uint32_t>()};
    const auto left = bytes.size() - view.end;
    if (left < size + kChecksum) break;  // cut off
    const auto record = bytes.subspan(view.end, size);
    const bool whole =
        crc32(record) == ByteReader(bytes.subspan(view.end + size)).get<std::uint32_t>();
    require(whole || left == size + kChecksum, ErrorKind::privacy, source, ": the record of round ",
            round, " at byte ", view.end, " is damaged");
    if (!whole) break;
    auto& values = view.rounds[round];
    values.resize((size - kHead) / 8);
    std::memcpy(values.data(), record.data() + kHead, size - kHead);
    view.end += size + kChecksum;
  }
  return view;
}

FileJournal::FileJournal(std::filesystem::path path) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    const auto content = read_raw_file(path_);
    auto view = decode_journal(std::as_bytes(std::span(content)), path_.string());
    write_file(path_, std::string_view(content).substr(0, view.end));
    known_ = std::move(view.rounds);
  } else {
    write_file(path_, kMagic);
  }
  open();
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
