// SPDX-License-Identifier: Apache-2.0
#include "porter/core/bytes.hpp"

#include <zlib.h>

namespace porter {

std::uint32_t crc32(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32_z(::crc32_z(0, nullptr, 0), data, bytes.size()));
}

}  // namespace porter
