// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace porter {

/// Where somebody listens.
struct Address {
  std::string host;  ///< a name or a number; may be empty: every device of this machine
  std::uint16_t port;
};

/// Reads "10.0.0.2:7400", "b.example.org:7400", "[2001:db8::7]:7400". Error{usage} unless it is
/// HOST:PORT with a port from 1 to 65535.
Address parse_address(const std::string& text);

}  // namespace porter
