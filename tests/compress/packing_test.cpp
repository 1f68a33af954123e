// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compress/packing.hpp"
#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

Payload pack(std::vector<std::uint32_t> codes, unsigned width) {
  const auto size = packed_bytes(codes.size(), width);
  Payload packed(size + kPackSlack);
  codes.resize((codes.size() + 7) / 8 * 8);
  BitPacker(packed.data(), width).put(codes);
  packed.resize(size);
  return packed;
}

TEST(Bits, PackLowestBitFirst) {
  EXPECT_EQ(pack({0b10011, 0b00001, 0b11111}, 5), bytes({0b001'10011, 0b0'11111'00}));
}

TEST(Bits, AreThoseOfThePlainDefinitionForEveryWidth) {
  RngStream rng(2, Draw::test, 0, 0);
  for (unsigned width = 1; width <= 16; ++width)
    for (const std::size_t count : {1, 2, 7, 8, 33}) {
      SCOPED_TRACE(concat(width, " bits, ", count, " codes"));
      std::vector<std::uint32_t> codes(count);
      for (auto& code : codes) code = static_cast<std::uint32_t>(rng.below(1ULL << width));
      Payload plain(packed_bytes(count, width), std::byte{0});
      for (std::size_t bit = 0; bit < count * width; ++bit)
        if (codes[bit / width] >> bit % width & 1) plain[bit / 8] |= std::byte(1U << bit % 8);

      const auto packed = pack(codes, width);
      EXPECT_EQ(packed, plain);

      ByteReader body(packed);
      BitReader reader(body, count, width);
      for (const auto code : codes) EXPECT_EQ(reader.get(), code);
      EXPECT_NO_THROW(reader.finish());
      EXPECT_EQ(body.left(), 0U);
    }
}

TEST(Bits, RefuseAFilledLastByte) {
  for (const int last : {0b1000'0000, 0b0000'1000}) {
    const auto packed = bytes({last});
    ByteReader body(packed);
    BitReader reader(body, 1, 3);
    EXPECT_EQ(reader.get(), 0U);
    EXPECT_THROW(reader.finish(), Error) << last;
  }
}

TEST(Varint, RoundTripsInAsFewBytesAsPossible) {
  const std::pair<std::uint32_t, std::size_t> cases[] = {
      {0, 1},       {1, 1},       {127, 1},       {128, 2},       {16383, 2},     {16384, 3},
      {2097151, 3}, {2097152, 4}, {268435455, 4}, {268435456, 5}, {0xFFFFFFFF, 5}};
  for (const auto& [value, size] : cases) {
    Payload written;
    put_varint(written, value);
    EXPECT_EQ(written.size(), size) << value;
    ByteReader body(written);
    EXPECT_EQ(get_varint(body), value);
    EXPECT_EQ(body.left(), 0U);
  }
  Payload written;
  put_varint(written, 300);
  EXPECT_EQ(written, bytes({0xAC, 0x02}));
}

TEST(Varint, RefusesOtherForms) {
  for (const auto& form :
       {bytes({}), bytes({0x80}), bytes({0x80, 0x00}), bytes({0xFF, 0x80, 0x00}),
        bytes({0xFF, 0xFF, 0xFF, 0xFF, 0x10}), bytes({0x80, 0x80, 0x80, 0x80, 0x80, 0x01})}) {
    ByteReader body(form);
    EXPECT_THROW(get_varint(body), Error) << form.size();
  }
}

}  // namespace
}  // namespace porter
