// SPDX-License-Identifier: Apache-2.0
#include "file_journal.hpp"

#include <algorithm>
#include <cstring>

#include "io/file.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// A header: magic (8), run id (32), agent (4), CRC-32 of all that (4). A record: round (4), number
// of values (4), CRC-32 of these (4), the values as doubles, CRC-32 of the values (4). So a length
// that is damaged does not pass for a record that is cut off.
constexpr std::string_view kMagic = "porterj2", kOldMagic = "porterj1";
constexpr std::size_t kRunDigits = 32, kChecksum = 4;
constexpr std::size_t kHeader = kMagic.size() + kRunDigits + 4 + kChecksum;
constexpr std::size_t kHead = 8 + kChecksum;

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  const auto expected = std::as_bytes(std::span(magic));
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), expected);
}

// Whether the CRC-32 behind `size` bytes is theirs.
bool is_whole(std::span<const std::byte> bytes, std::size_t size) {
  return crc32(bytes.first(size)) == ByteReader(bytes.subspan(size)).get<std::uint32_t>();
}

FileOwner decode_header(std::span<const std::byte> bytes, const std::string& source) {
  require(!starts_with(bytes, kOldMagic), ErrorKind::privacy, source,
          ": a journal of porter 0.1, which does not say whose it is; end its run with porter 0.1, "
          "or start a new run in a new folder");
  require(starts_with(bytes, kMagic), ErrorKind::privacy, source, ": not a journal of releases");
  require(bytes.size() >= kHeader && is_whole(bytes, kHeader - kChecksum), ErrorKind::privacy,
          source, ": the header is damaged");
  ByteReader in(bytes.subspan(kMagic.size()));
  const auto digits = in.take(kRunDigits);
  return {std::string(reinterpret_cast<const char*>(digits.data()), kRunDigits),
          in.get<std::uint32_t>()};
}

std::string encode_header(const FileOwner& owner) {
  require(owner.run.size() == kRunDigits, ErrorKind::usage, "a run id has ", kRunDigits, " digits");
  Payload bytes;
  for (const auto text : {kMagic, std::string_view(owner.run)})
    for (const char c : text) put(bytes, c);
  put(bytes, owner.agent);
  put(bytes, crc32(bytes));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string encode_record(std::uint32_t round, std::span<const double> g) {
  Payload bytes;
  put(bytes, round);
  put(bytes, static_cast<std::uint32_t>(g.size()));
  put(bytes, crc32(bytes));
  const auto values = std::as_bytes(g);
  bytes.insert(bytes.end(), values.begin(), values.end());
  put(bytes, crc32(values));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void require_owner(const FileOwner& found, const FileOwner& expected, const std::string& source) {
  require(found.run == expected.run, ErrorKind::privacy, source,
          ": it belongs to another run: expected run ", expected.run, ", found run ", found.run);
  require(found.agent == expected.agent, ErrorKind::privacy, source,
          ": it belongs to another agent: expected agent ", expected.agent, ", found agent ",
          found.agent);
}

JournalView decode_journal(std::span<const std::byte> bytes, const std::string& source) {
  JournalView view{decode_header(bytes, source), {}, kHeader, false};
  while (bytes.size() - view.end >= kHead) {
    const auto rest = bytes.subspan(view.end);
    ByteReader head(rest);
    const auto round = head.get<std::uint32_t>();
    const std::size_t size = 8 * std::size_t{head.get<std::uint32_t>()};
    view.doubtful = !is_whole(rest, kHead - kChecksum);
    if (view.doubtful || rest.size() < kHead + size + kChecksum) break;  // or cut off
    const auto body = rest.subspan(kHead);
    view.doubtful = !is_whole(body, size);
    require(!view.doubtful || body.size() == size + kChecksum, ErrorKind::privacy, source,
            ": the record of round ", round, " at byte ", view.end, " is damaged");
    if (view.doubtful) break;
    auto& values = view.rounds[round];
    values.resize(size / 8);
    std::memcpy(values.data(), body.data(), size);
    view.end += kHead + size + kChecksum;
  }
  return view;
}

FileJournal::FileJournal(fs::path path, FileOwner owner, std::uint32_t after, bool older)
    : path_(std::move(path)), previous_(path_.string() + ".previous"), owner_(std::move(owner)) {
  if (fs::exists(path_)) {
    const auto view = read(path_, after);
    end_ = view.end;
    doubtful_ = view.doubtful;
    if (older && fs::exists(previous_)) read(previous_, after);
    if (!doubtful_) drop_doubtful();  // only half a record, if anything
  } else {
    write_file(path_, encode_header(owner_));
    open();
  }
}

JournalView FileJournal::read(const fs::path& file, std::uint32_t after) {
  const auto content = read_raw_file(file);
  auto view = decode_journal(std::as_bytes(std::span(content)), file.string());
  require_owner(view.owner, owner_, file.string());
  for (auto& [round, values] : view.rounds)
    if (round > after) known_.try_emplace(round, std::move(values));
  return view;
}

void FileJournal::drop_doubtful() {
  open();
  file_->truncate(end_);
  doubtful_ = false;
}

void FileJournal::open() {
  file_.emplace(path_,
                AppendFile::Options{.sync = AppendFile::Sync::disk, .error = ErrorKind::privacy});
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
  require(!doubtful_, ErrorKind::privacy, path_.string(), ": its last record is damaged");
  file_->append(encode_record(round, g));
}

// There is a file at the path at every moment: one that is missing was taken away.
void FileJournal::turn(std::uint32_t round) {
  require(!doubtful_, ErrorKind::privacy, path_.string(), ": its last record is damaged");
  std::error_code ignored;
  fs::remove(previous_, ignored);
  fs::create_hard_link(path_, previous_, ignored);
  if (ignored) fs::copy_file(path_, previous_);  // a file system without links
  std::erase_if(known_, [&](const auto& entry) { return entry.first <= round; });
  auto content = encode_header(owner_);
  for (const auto& [later, values] : known_) content += encode_record(later, values);
  write_file(path_, content);
  open();
}

}  // namespace porter
