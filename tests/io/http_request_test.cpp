// SPDX-License-Identifier: Apache-2.0
#include "io/http_request.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

TEST(HttpRequest, ReadsWhatBrowsersSend) {
  const auto request = parse_http_request(
      "GET /page HTTP/1.1\r\nhost:  127.0.0.1:8650 \r\nIF-NONE-MATCH: \"abc\"\r\nAccept: "
      "*/*\r\n\r\n");
  EXPECT_EQ(request.refusal, "");
  EXPECT_EQ(request.path, "/page");
  EXPECT_EQ(request.host, "127.0.0.1:8650");
  EXPECT_EQ(request.version, "\"abc\"");
  EXPECT_EQ(parse_http_request("GET / HTTP/1.0\r\n\r\n").host, "");
}

TEST(HttpRequest, RefusesEverythingElse) {
  const std::pair<std::string, const char*> cases[] = {
      {"POST / HTTP/1.1\r\n\r\n", "405"},
      {"HEAD / HTTP/1.1\r\n\r\n", "405"},
      {"GET / HTTP/2\r\n\r\n", "400"},
      {"GET http://a/ HTTP/1.1\r\n\r\n", "400"},
      {"GET / HTTP/1.1 more\r\n\r\n", "400"},
      {"GET /\r\n\r\n", "400"},
      {"\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", "400"},
      {"", "431"},
      {"GET / HTTP/1.1\r\n", "431"},
      {"GET / HTTP/1.1\r\nA: " + std::string(kLongestHttpRequest, 'a') + "\r\n\r\n", "431"}};
  for (const auto& [bytes, status] : cases)
    EXPECT_TRUE(parse_http_request(bytes).refusal.starts_with(status)) << bytes.substr(0, 60);
}

}  // namespace
}  // namespace porter
