// SPDX-License-Identifier: Apache-2.0
#include "io/http_request.hpp"

#include <algorithm>
#include <cctype>

#include "core/text.hpp"

namespace porter {
namespace {

constexpr std::string_view kLineEnd = "\r\n", kRequestEnd = "\r\n\r\n";

bool is_header(std::string_view name, std::string_view expected) {
  return std::ranges::equal(name, expected, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

std::string trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return std::string(text.substr(0, text.find_last_not_of(kBlanks) + 1));
}

}  // namespace

HttpRequest parse_http_request(std::string_view bytes) {
  const auto end = bytes.find(kRequestEnd);
  if (end > kLongestHttpRequest) return {.refusal = "431 Request Header Fields Too Large"};
  auto lines = bytes.substr(0, end + kLineEnd.size());
  const auto next_line = [&] {
    const auto line = lines.substr(0, lines.find(kLineEnd));
    lines.remove_prefix(line.size() + kLineEnd.size());
    return line;
  };
  auto first = next_line();
  const auto method = next_word(first), path = next_word(first), protocol = next_word(first);
  if (!path.starts_with('/') || !protocol.starts_with("HTTP/1.") || !first.empty())
    return {.refusal = "400 Bad Request"};
  if (method != "GET") return {.refusal = "405 Method Not Allowed"};
  HttpRequest request{.path = std::string(path)};
  while (!lines.empty()) {
    const auto line = next_line();
    const auto colon = line.find(':');
    if (colon == line.npos) return {.refusal = "400 Bad Request"};
    const auto name = line.substr(0, colon);
    if (is_header(name, "Host")) request.host = trimmed(line.substr(colon + 1));
    if (is_header(name, "If-None-Match")) request.version = trimmed(line.substr(colon + 1));
  }
  return request;
}

}  // namespace porter
