// SPDX-License-Identifier: Apache-2.0
#include "comm/tls.hpp"

#include <gtest/gtest.h>

#include "porter/core/error.hpp"

namespace porter {
namespace {

TEST(Address, ReadsNamesAndNumbers) {
  const std::tuple<std::string, std::string, int> cases[] = {
      {"10.0.0.2:7400", "10.0.0.2", 7400},
      {"b.example.org:1", "b.example.org", 1},
      {"[2001:db8::7]:65535", "2001:db8::7", 65535},
      {":80", "", 80}};
  for (const auto& [text, host, port] : cases) {
    const auto address = parse_address(text);
    EXPECT_EQ(address.host, host);
    EXPECT_EQ(int{address.port}, port);
  }
}

TEST(Address, RefusesWhatIsNone) {
  for (const std::string text : {"", "a", "a:", "a:0", "a:80000", "a:65536", "a:-1", "a:1x", "a: 1",
                                 "2001:db8::7:80", "a:99999999999999999999"})
    EXPECT_THROW(parse_address(text), Error) << text;
}

}  // namespace
}  // namespace porter
