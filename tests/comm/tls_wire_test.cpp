// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/tls_wire.hpp"
#include "says.hpp"

namespace porter {
namespace {

TEST(TlsWire, AWelcomeHasAKeyOfTheRightLengthWhereOneIsDue) {
  const KeyExchange::Key key{std::byte{1}, std::byte{2}};
  const auto with = encode_welcome({3, 2, 1, key}), without = encode_welcome({3, 2, 1});
  EXPECT_EQ(with.size(), 44U);
  EXPECT_EQ(without.size(), 12U);
  const auto read = decode_welcome(with, true, "peer");
  EXPECT_EQ(read.wanted_from, 3U);
  EXPECT_EQ(read.seen, 1U);
  EXPECT_EQ(read.key, key);
  EXPECT_FALSE(decode_welcome(without, false, "peer").key);
  EXPECT_TRUE(says(what_fails([&] { decode_welcome(with, false, "peer"); }), "32 bytes too many"));
  for (const std::size_t size : {12, 13, 43}) {
    const auto cut = std::span(with).first(size);
    EXPECT_TRUE(says(what_fails([&] { decode_welcome(cut, true, "peer"); }),
                     "peer sent a malformed welcome: expected a key of 32 bytes, found"));
  }
  auto longer = with;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(says(what_fails([&] { decode_welcome(longer, true, "peer"); }), "found 33"));
  Payload header;
  put_header(header, LinkKind::welcome, 45);  // is not even read
  EXPECT_TRUE(
      says(what_fails([&] { decode_link_header(header, LinkSide::taker, false, 1000, "peer"); }),
           "the limit is 44"));
}

}  // namespace
}  // namespace porter
