// SPDX-License-Identifier: Apache-2.0
#include "porter/core/bytes.hpp"

#include <gtest/gtest.h>

#include "every_simd_target.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

// The definition, bit by bit.
std::uint32_t plain_crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const auto byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

TEST(Crc32, GivesThePublishedCheckValue) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32(std::as_bytes(std::span(digits))), 0xCBF43926);
  EXPECT_EQ(crc32({}), 0U);
}

TEST(Crc32, FollowsItsDefinitionAtEveryLengthAndAlignment) {
  Payload bytes(700);
  RngStream rng(1, Draw::test, 0, 0);
  for (auto& byte : bytes) byte = static_cast<std::byte>(rng.next_u32());
  for_every_simd_target([&](const std::string&) {
    for (std::size_t start = 0; start < 17; ++start)
      for (std::size_t size = 0; size <= 600; ++size) {
        const auto part = std::span(bytes).subspan(start, size);
        ASSERT_EQ(crc32(part), plain_crc32(part)) << size << " bytes from " << start;
      }
    for (const std::size_t size : {1023, 4096, 20'431}) {
      Payload longer(size);
      for (auto& byte : longer) byte = static_cast<std::byte>(rng.next_u32());
      ASSERT_EQ(crc32(longer), plain_crc32(longer)) << size;
    }
    for (const std::byte value : {std::byte{0}, std::byte{0xFF}}) {
      const Payload equal(10180, value);
      EXPECT_EQ(crc32(equal), plain_crc32(equal));
    }
  });
}

TEST(Crc32, GoesOnAfterBytesThatCameBefore) {
  Payload bytes(300);
  RngStream rng(2, Draw::test, 0, 0);
  for (auto& byte : bytes) byte = static_cast<std::byte>(rng.next_u32());
  const auto whole = std::span(bytes);
  for (std::size_t first = 0; first <= bytes.size(); ++first)
    ASSERT_EQ(crc32(whole.subspan(first), crc32(whole.first(first))), plain_crc32(bytes)) << first;
}

}  // namespace
}  // namespace porter
