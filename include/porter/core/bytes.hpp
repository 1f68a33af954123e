// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "porter/core/error.hpp"

namespace porter {

static_assert(std::endian::native == std::endian::little,
              "wire and file formats are little-endian");

/// The bytes that travel.
using Payload = std::vector<std::byte>;

/// Appends a number, little-endian.
template <class T>
void put(Payload& bytes, T value) {
  static_assert(std::is_arithmetic_v<T>);
  const auto at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

/// Reads numbers off bytes that may come from a stranger: running past the end is Error{protocol}.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> take(std::size_t count) {
    require(count <= left(), ErrorKind::protocol, "message ends too early: ", count,
            " more bytes expected, ", left(), " left");
    const auto piece = bytes_.subspan(at_, count);
    at_ += count;
    return piece;
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// CRC-32 (the polynomial of zlib and Ethernet): finds every error burst of up to 32 bits. Of bytes
/// that follow others, whose checksum is `before`, that of all.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace porter
