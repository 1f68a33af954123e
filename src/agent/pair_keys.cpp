// SPDX-License-Identifier: Apache-2.0
#include "pair_keys.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "io/file.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"
#include "privacy/secure_noise.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

using State = PairRecord::State;

// magic (8), run id (32), agent (4), number of records (4), the records, CRC-32 of all that (4). A
// record: neighbour (4), state (4), round (4), own public key (32), the neighbour's (32), secret
// (32).
constexpr std::string_view kPairsMagic = "porterp1";
constexpr std::size_t kIdDigits = 32, kPairsHeader = kPairsMagic.size() + kIdDigits + 8;
constexpr std::size_t kPairsRecord = 12 + 3 * 32, kPairsChecksum = 4;

PairRecord get_record(ByteReader& in) {
  PairRecord record;
  record.neighbour = in.get<std::uint32_t>();
  record.state = State{in.get<std::uint32_t>()};
  const auto round = in.get<std::uint32_t>();
  std::ranges::copy(in.take(record.own.size()), record.own.begin());
  std::ranges::copy(in.take(record.theirs.size()), record.theirs.begin());
  SecretKey secret;
  std::ranges::copy(in.take(secret.bytes().size()), secret.bytes().begin());
  if (record.state == State::greeting) record.private_key = std::exchange(secret, {});
  record.chain = PairChain(std::move(secret), round);
  return record;
}

void erase_text(std::string& secret) { erase_bytes(std::as_writable_bytes(std::span(secret))); }

// As well as a program can: a journalling file system or a disk that moves its blocks may keep
// them.
void overwrite(int fd, std::size_t size, const fs::path& path) {
  const std::string zeros(size, '\0');
  require(::pwrite(fd, zeros.data(), size, 0) == static_cast<ssize_t>(size) && ::fdatasync(fd) == 0,
          ErrorKind::io, path.string(), ": cannot overwrite what it held: ", reason());
}

}  // namespace

std::string encode_pairs(const PairsView& view) {
  require(view.owner.run.size() == kIdDigits, ErrorKind::usage, "a run id has ", kIdDigits,
          " digits");
  Payload bytes;
  bytes.reserve(kPairsHeader + view.records.size() * kPairsRecord +
                kPairsChecksum);  // one copy of what is secret
  for (const auto text : {kPairsMagic, std::string_view(view.owner.run)})
    for (const char c : text) put(bytes, c);
  put(bytes, view.owner.agent);
  put(bytes, static_cast<std::uint32_t>(view.records.size()));
  for (const auto& record : view.records) {
    put(bytes, record.neighbour);
    put(bytes, static_cast<std::uint32_t>(record.state));
    put(bytes, record.chain.round());
    const auto& secret = record.state == State::greeting ? record.private_key : record.chain.key();
    for (const std::span<const std::byte> key :
         {std::span<const std::byte>(record.own), std::span<const std::byte>(record.theirs),
          std::span<const std::byte>(secret.bytes())})
      bytes.insert(bytes.end(), key.begin(), key.end());
  }
  put(bytes, crc32(bytes));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  erase_bytes(bytes);
  return text;
}

PairsView decode_pairs(std::span<const std::byte> bytes, const std::string& source) {
  const auto damaged = [&](bool whole, const char* what) {
    require(whole, ErrorKind::privacy, source, ": ", what);
  };
  damaged(bytes.size() >= kPairsHeader + kPairsChecksum &&
              std::ranges::equal(bytes.first(kPairsMagic.size()),
                                 std::as_bytes(std::span(kPairsMagic))),
          "not a file of secrets that agents share");
  const auto content = bytes.first(bytes.size() - kPairsChecksum);
  damaged(crc32(content) == ByteReader(bytes.subspan(content.size())).get<std::uint32_t>(),
          "it is damaged");
  ByteReader in(content.subspan(kPairsMagic.size()));
  const auto digits = in.take(kIdDigits);
  PairsView view{{std::string(reinterpret_cast<const char*>(digits.data()), kIdDigits),
                  in.get<std::uint32_t>()},
                 {}};
  const auto records = in.get<std::uint32_t>();
  damaged(in.left() == records * std::uint64_t{kPairsRecord},
          "its length is not that of its records");
  for (std::uint32_t i = 0; i < records; ++i) {
    view.records.push_back(get_record(in));
    const auto& record = view.records.back();
    damaged(record.state <= State::spent &&
                (record.state != State::greeting || record.chain.round() == 0),
            "a record has no state that there is");
  }
  return view;
}

PairKeys::PairKeys(fs::path path, FileOwner owner, std::vector<std::string> names,
                   const std::vector<std::uint32_t>& neighbours)
    : path_(std::move(path)), names_(std::move(names)) {
  if (fs::exists(path_)) {
    auto content = read_raw_file(path_);
    view_ = decode_pairs(std::as_bytes(std::span(content)), path_.string());
    erase_text(content);
    require_owner(view_.owner, owner, path_.string());
    require(std::ranges::equal(view_.records, neighbours, {}, &PairRecord::neighbour),
            ErrorKind::privacy, path_.string(), ": it has secrets of other pairs than those of ",
            names_[owner.agent]);
  } else {
    view_.owner = std::move(owner);
    for (const auto neighbour : neighbours) {
      auto& record = view_.records.emplace_back();
      record.neighbour = neighbour;
      record.private_key = make_private_key();
      record.own = public_key(record.private_key);
    }
    save();
  }
}

std::size_t PairKeys::find(std::uint32_t neighbour) const {
  const auto found = std::ranges::find(view_.records, neighbour, &PairRecord::neighbour);
  require(found != view_.records.end(), ErrorKind::privacy, "agent ", neighbour,
          " shares no noise with agent ", view_.owner.agent);
  return static_cast<std::size_t>(found - view_.records.begin());
}

PairKeys::Key PairKeys::own(std::uint32_t neighbour) const {
  const std::lock_guard lock(mutex_);
  return view_.records[find(neighbour)].own;
}

void PairKeys::take(std::uint32_t neighbour, const Key& key) {
  const std::lock_guard lock(mutex_);
  auto& record = view_.records[find(neighbour)];
  if (record.state != State::greeting)
    return require(record.theirs == key, ErrorKind::privacy, names_[neighbour],
                   " shows another key than before: its folder is not the one that it began with");
  const auto here = view_.owner.agent;
  record.chain =
      PairChain(agree(record.private_key, view_.owner.run, {here, names_[here], record.own},
                      {neighbour, names_[neighbour], key}));
  record.private_key = {};
  record.theirs = key;
  record.state = State::agreed;
}

void PairKeys::settle() {
  const std::lock_guard lock(mutex_);
  for (const auto& record : view_.records)
    require(record.state != State::greeting, ErrorKind::privacy, names_[record.neighbour],
            " has given no key for the noise that it shares with ", names_[view_.owner.agent]);
  save();
}

void PairKeys::add(std::size_t agent, std::uint32_t round, const SecureNoise& noise,
                   std::span<double> steps) {
  const std::lock_guard lock(mutex_);
  require(agent == view_.owner.agent, ErrorKind::privacy, path_.string(), ": the secrets of agent ",
          view_.owner.agent, ", not of agent ", agent);
  for (auto& record : view_.records) {
    require(record.state == State::agreed, ErrorKind::privacy, "there is no secret with ",
            names_[record.neighbour], " for the noise of round ", round);
    auto stream = record.chain.draw(round);
    noise.share_end(steps, agent < record.neighbour ? 1 : -1, stream);
  }
}

void PairKeys::forget(std::uint32_t round) {
  const std::lock_guard lock(mutex_);
  for (auto& record : view_.records)
    if (record.state == State::agreed) record.chain.skip_to(round + 1);
  save();
}

void PairKeys::spend() {
  const std::lock_guard lock(mutex_);
  for (auto& record : view_.records) {
    record.state = State::spent;
    record.private_key = {};
    record.chain = PairChain(SecretKey(), 0);
  }
  save();
}

void PairKeys::remove() {
  std::error_code error;
  fs::remove(path_, error);
  require(!error, ErrorKind::io, path_.string(), ": cannot remove it: ", error.message());
}

// The new file is there before the old one is overwritten: a crash leaves one of them whole.
void PairKeys::save() {
  const FileDescriptor old(fs::exists(path_) ? open_plain(path_, O_WRONLY) : -1);
  auto content = encode_pairs(view_);
  write_file(path_, content);
  const auto size = content.size();
  erase_text(content);
  if (old.get() >= 0) overwrite(old.get(), size, path_);
}

}  // namespace porter
