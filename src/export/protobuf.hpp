// SPDX-License-Identifier: Apache-2.0
// As much of the wire format of protocol buffers as ONNX needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace porter {

/// A message under construction. Fields are written in the order of the calls.
class ProtoMessage {
 public:
  ProtoMessage& number(unsigned field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
    return *this;
  }
  ProtoMessage& text(unsigned field, std::string_view bytes) {
    tag(field, kLength);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  ProtoMessage& message(unsigned field, const ProtoMessage& inner) {
    return text(field, inner.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr unsigned kVarint = 0, kLength = 2;

  void tag(unsigned field, unsigned type) { varint(field << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace porter
