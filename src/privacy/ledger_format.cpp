// SPDX-License-Identifier: Apache-2.0
#include "ledger_format.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "porter/core/error.hpp"
#include "search.hpp"

namespace porter {
namespace {

constexpr std::string_view kMagic = "porterlg";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kRunIdBytes = 64, kNameBytes = 16;
constexpr std::size_t kCrcBytes = sizeof(std::uint32_t);

void put_text(Payload& bytes, const std::string& text, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    bytes.push_back(static_cast<std::byte>(i < text.size() ? text[i] : '\0'));
}

std::string get_text(ByteReader& reader, std::size_t size) {
  const auto bytes = reader.take(size);
  std::string text(reinterpret_cast<const char*>(bytes.data()), size);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

bool writable(const std::string& text, std::size_t size) {
  return !text.empty() && text.size() <= size &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool crc_holds(std::span<const std::byte> encoded) {
  return crc32(encoded.first(encoded.size() - kCrcBytes)) == stored_crc(encoded);
}

LedgerHeader decode_header(std::span<const std::byte> bytes, const std::string& name) {
  const auto starts_well = [&] {
    return bytes.size() >= kMagic.size() &&
           std::equal(kMagic.begin(), kMagic.end(), reinterpret_cast<const char*>(bytes.data()));
  };
  require(starts_well(), ErrorKind::privacy, name, ": not a privacy ledger: expected \"", kMagic,
          "\" at offset 0");
  require(bytes.size() >= kLedgerHeaderBytes, ErrorKind::privacy, name,
          ": the header is cut off at offset ", bytes.size(), "; it has ", kLedgerHeaderBytes,
          " bytes");
  ByteReader reader(bytes.subspan(kMagic.size()));
  const auto version = reader.get<std::uint32_t>();
  require(version == kVersion, ErrorKind::privacy, name, ": expected ledger version ", kVersion,
          " at offset ", kMagic.size(), ", found ", version);
  require(crc_holds(bytes.first(kLedgerHeaderBytes)), ErrorKind::privacy, name,
          ": the header is damaged: its checksum at offset ", kLedgerHeaderBytes - kCrcBytes,
          " does not fit");
  LedgerHeader header;
  header.agent = reader.get<std::uint32_t>();
  header.run_id = get_text(reader, kRunIdBytes);
  header.sampler = get_text(reader, kNameBytes);
  header.adjacency = get_text(reader, kNameBytes);
  header.records = reader.get<std::uint64_t>();
  header.batch = reader.get<std::uint64_t>();
  header.noise_stddev = reader.get<double>();
  header.clip = reader.get<double>();
  header.delta = reader.get<double>();
  header.epsilon = reader.get<double>();
  check_ledger_header(header, name);
  return header;
}

LedgerRecord decode_record(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  LedgerRecord record;
  record.sequence = reader.get<std::uint64_t>();
  record.round = reader.get<std::uint32_t>();
  record.flags = reader.get<std::uint32_t>();
  record.noise_stddev = reader.get<double>();
  record.batch = reader.get<std::uint64_t>();
  record.previous_crc = reader.get<std::uint32_t>();
  return record;
}

void check_record(const LedgerRecord& record, const LedgerView& view, const std::string& name,
                  std::size_t offset) {
  require(record.sequence == view.charges + 1 && record.previous_crc == view.last_crc,
          ErrorKind::privacy, name, ": records are missing or out of order at offset ", offset,
          ": expected charge ", view.charges + 1, ", found ", record.sequence,
          record.sequence == view.charges + 1 ? " of another history" : "");
  require(record.flags <= kTornFlag && positive(record.noise_stddev) && record.batch > 0,
          ErrorKind::privacy, name, ": the record at offset ", offset, " makes no sense: flags ",
          record.flags, ", standard deviation ", record.noise_stddev, ", batch ", record.batch);
}

}  // namespace

void check_ledger_header(const LedgerHeader& header, const std::string& name) {
  require(writable(header.run_id, kRunIdBytes) && writable(header.sampler, kNameBytes) &&
              writable(header.adjacency, kNameBytes),
          ErrorKind::privacy, name,
          ": the ledger's run id, sampler and adjacency must be printable ASCII of 1 to 64, 16 and "
          "16 characters");
  require(header.batch > 0 && header.batch <= header.records, ErrorKind::privacy, name,
          ": the ledger's batch must be in [1, ", header.records, "], found ", header.batch);
  require(positive(header.noise_stddev) && positive(header.clip), ErrorKind::privacy, name,
          ": the ledger's standard deviation and clip must be positive, found ",
          header.noise_stddev, " and ", header.clip);
  require(header.delta > 0 && header.delta < 1 && header.epsilon > 0, ErrorKind::privacy, name,
          ": the ledger's delta must be in (0, 1) and its epsilon positive, found ", header.delta,
          " and ", header.epsilon);
}

Payload encode_ledger_header(const LedgerHeader& header) {
  Payload bytes;
  put_text(bytes, std::string(kMagic), kMagic.size());
  put(bytes, kVersion);
  put(bytes, header.agent);
  put_text(bytes, header.run_id, kRunIdBytes);
  put_text(bytes, header.sampler, kNameBytes);
  put_text(bytes, header.adjacency, kNameBytes);
  put(bytes, header.records);
  put(bytes, header.batch);
  put(bytes, header.noise_stddev);
  put(bytes, header.clip);
  put(bytes, header.delta);
  put(bytes, header.epsilon);
  put(bytes, std::uint32_t{0});  // fills up to a multiple of eight
  put(bytes, crc32(bytes));
  return bytes;
}

Payload encode_ledger_record(const LedgerRecord& record) {
  Payload bytes;
  put(bytes, record.sequence);
  put(bytes, record.round);
  put(bytes, record.flags);
  put(bytes, record.noise_stddev);
  put(bytes, record.batch);
  put(bytes, record.previous_crc);
  put(bytes, crc32(bytes));
  return bytes;
}

std::uint32_t stored_crc(std::span<const std::byte> encoded) {
  return ByteReader(encoded.last(kCrcBytes)).get<std::uint32_t>();
}

void count_record(LedgerView& view, const LedgerRecord& record, std::uint32_t crc) {
  ++view.charges;
  if (record.flags == kTornFlag) {
    ++view.torn;
  } else {
    view.last_round = record.round;
  }
  view.last_crc = crc;
  if (view.phases.empty() || view.phases.back().noise_stddev != record.noise_stddev ||
      view.phases.back().batch != record.batch)
    view.phases.push_back({record.noise_stddev, record.batch, 0});
  ++view.phases.back().charges;
}

// It may have been the first of a phase with less noise; the header has the least.
LedgerRecord torn_record(const LedgerView& whole) {
  const auto& header = whole.header;
  const LedgerPhase phase = whole.phases.empty() ? LedgerPhase{header.noise_stddev, header.batch, 0}
                                                 : whole.phases.back();
  return {.sequence = whole.charges + 1,
          .round = whole.last_round,
          .flags = kTornFlag,
          .noise_stddev = phase.batch == header.batch
                              ? std::min(phase.noise_stddev, header.noise_stddev)
                              : phase.noise_stddev,
          .batch = phase.batch,
          .previous_crc = whole.last_crc};
}

LedgerView decode_whole_records(std::span<const std::byte> bytes, const std::string& name) {
  LedgerView view;
  view.header = decode_header(bytes, name);
  view.last_crc = stored_crc(bytes.first(kLedgerHeaderBytes));
  for (std::size_t offset = kLedgerHeaderBytes; offset < bytes.size();
       offset += kLedgerRecordBytes) {
    const auto left = bytes.subspan(offset);
    if (left.size() < kLedgerRecordBytes || !crc_holds(left.first(kLedgerRecordBytes))) {
      // Each record is on disk before the next is written, so only the last can be torn.
      require(left.size() <= kLedgerRecordBytes, ErrorKind::privacy, name,
              ": the record of charge ", view.charges + 1, " at offset ", offset,
              " is damaged: its checksum does not fit");
      view.torn_tail = true;
      return view;
    }
    const auto encoded = left.first(kLedgerRecordBytes);
    const auto record = decode_record(encoded);
    check_record(record, view, name, offset);
    count_record(view, record, stored_crc(encoded));
  }
  return view;
}

LedgerView decode_ledger(std::span<const std::byte> bytes, const std::string& name) {
  auto view = decode_whole_records(bytes, name);
  if (view.torn_tail) count_record(view, torn_record(view), view.last_crc);
  return view;
}

}  // namespace porter
