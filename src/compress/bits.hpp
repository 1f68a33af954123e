// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "porter/core/bytes.hpp"

namespace porter {

// Codes of a fixed width one after the other, lowest bit first: bit j of the sequence is bit j % 8
// of byte j / 8. The last byte is filled with zero bits.

constexpr std::size_t packed_bytes(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

class BitWriter {
 public:
  /// Appends to `bytes`, for `count` codes of `width` <= 32 bits.
  BitWriter(Payload& bytes, std::size_t count, unsigned width) : bytes_(bytes), width_(width) {
    bytes_.reserve(bytes_.size() + packed_bytes(count, width) + sizeof(std::uint32_t));
  }
  void put(std::uint32_t code) {
    held_ |= std::uint64_t{code} << held_bits_;
    for (held_bits_ += width_; held_bits_ >= 8; held_bits_ -= 8) flush_byte();
  }
  void finish() {
    if (held_bits_ > 0) flush_byte();
    held_bits_ = 0;
  }

 private:
  void flush_byte() {
    bytes_.push_back(static_cast<std::byte>(held_ & 0xFF));
    held_ >>= 8;
  }
  Payload& bytes_;
  unsigned width_;
  std::uint64_t held_ = 0;
  unsigned held_bits_ = 0;
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

}  // namespace porter
