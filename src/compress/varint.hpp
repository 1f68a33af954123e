// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "porter/core/bytes.hpp"

namespace porter {

/// Appends an unsigned LEB128 number: seven bits a byte, lowest first, the top bit set on all bytes
/// but the last.
inline void put_varint(Payload& bytes, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

/// Reads one number below 2^32. Each has one form only: a needless zero byte at the end is
/// Error{protocol}, as is a number that is too large.
inline std::uint32_t get_varint(ByteReader& body) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    const auto byte = body.get<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte >= 0x80) continue;
    require(byte != 0 || shift == 0, ErrorKind::protocol,
            "a number in a compressed vector is written longer than needed");
    require(value <= 0xFFFFFFFF, ErrorKind::protocol,
            "a number in a compressed vector is 2^32 or more");
    return static_cast<std::uint32_t>(value);
  }
  fail(ErrorKind::protocol, "a number in a compressed vector is longer than five bytes");
}

}  // namespace porter
