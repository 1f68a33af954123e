// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "porter/core/bytes.hpp"

namespace porter {

// Codes of a fixed width one after the other, lowest bit first: bit j of the sequence is bit j % 8
// of byte j / 8. The last byte is filled with zero bits.

constexpr std::size_t packed_bytes(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

/// Packs eight codes at a time into a buffer that has room for all codes and kPackSlack bytes more,
/// which may be overwritten.
inline constexpr std::size_t kPackSlack = 16;

class BitPacker {
 public:
  BitPacker(std::byte* out, unsigned width) : out_(out), width_(width) {}

  /// The number of codes is a multiple of 8. Width up to 16.
  void put(std::span<const std::uint32_t> codes) {
    for (std::size_t i = 0; i < codes.size(); i += 8) put_eight(&codes[i]);
  }

 private:
  void put_eight(const std::uint32_t* c) {
    const auto pair = [&](int i) { return c[i] | std::uint64_t{c[i + 1]} << width_; };
    const auto low = pair(0) | pair(2) << (2 * width_), high = pair(4) | pair(6) << (2 * width_);
    const unsigned half = 4 * width_;  // bits of four codes, at most 64
    const std::uint64_t words[2] = {half < 64 ? low | high << half : low,
                                    half < 64 ? high >> 1 >> (63 - half) : high};
    std::memcpy(out_, words, sizeof words);
    out_ += width_;
  }
  std::byte* out_;
  unsigned width_;
};

class BitReader {
 public:
  /// Takes the bytes of `count` codes off `body`; Error{protocol} if they are not there.
  BitReader(ByteReader& body, std::size_t count, unsigned width)
      : bytes_(body.take(packed_bytes(count, width))), width_(width) {}

  /// The next code; at most `count` calls.
  std::uint32_t get() {
    for (; held_bits_ < width_; held_bits_ += 8)
      held_ |= std::to_integer<std::uint64_t>(bytes_[at_++]) << held_bits_;
    const auto code = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << width_) - 1));
    held_ >>= width_;
    held_bits_ -= width_;
    return code;
  }
  /// After the last code: the rest of the last byte must be zero.
  void finish() const {
    require(held_ == 0, ErrorKind::protocol,
            "the unused bits at the end of a compressed vector are not zero");
  }

 private:
  std::span<const std::byte> bytes_;
  unsigned width_;
  std::size_t at_ = 0;
  std::uint64_t held_ = 0;
  unsigned held_bits_ = 0;
};

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
