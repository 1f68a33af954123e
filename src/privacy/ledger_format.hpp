// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/privacy/ledger.hpp"

namespace porter {

/// The bytes of a ledger: one header, then records of one size. docs/noise_and_ledger.md has the
/// table.
inline constexpr std::size_t kLedgerHeaderBytes = 168, kLedgerRecordBytes = 40;
inline constexpr std::uint32_t kTornFlag = 1;  ///< a charge whose writing was interrupted

struct LedgerRecord {
  std::uint64_t sequence = 0;  ///< from 1
  std::uint32_t round = 0;
  std::uint32_t flags = 0;
  double noise_stddev = 0;
  std::uint64_t batch = 0;
  std::uint32_t previous_crc = 0;
};

/// Error{privacy} naming `name` unless the header can be written and read back.
void check_ledger_header(const LedgerHeader& header, const std::string& name);

Payload encode_ledger_header(const LedgerHeader& header);
Payload encode_ledger_record(const LedgerRecord& record);

/// The checksum at the end of an encoded header or record.
std::uint32_t stored_crc(std::span<const std::byte> encoded);

/// Adds a whole record to the view.
void count_record(LedgerView& view, const LedgerRecord& record, std::uint32_t crc);

/// As decode_ledger, but a torn record at the end is only noted in torn_tail and not counted yet.
LedgerView decode_whole_records(std::span<const std::byte> bytes, const std::string& name);

/// The record that stands for a torn charge: it was about to follow what the view holds.
LedgerRecord torn_record(const LedgerView& whole);

}  // namespace porter
