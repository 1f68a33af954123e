// SPDX-License-Identifier: Apache-2.0
#include "comm/address.hpp"

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {

Address parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto digits = colon == text.npos ? std::string() : text.substr(colon + 1);
  const auto port = parse_number<std::uint16_t>(digits).value_or(0);
  require(port > 0, ErrorKind::usage, "expected ADDRESS:PORT with a port from 1 to 65535, found \"",
          without_controls(text), '"');
  auto host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  require(bracketed || host.find(':') == host.npos, ErrorKind::usage,
          "an IPv6 address is written [ADDRESS]:PORT, found \"", without_controls(text), '"');
  return {std::move(host), port};
}

}  // namespace porter
