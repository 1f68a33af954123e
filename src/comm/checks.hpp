// SPDX-License-Identifier: Apache-2.0
// What all transports check and say in the same words.
#pragma once

#include <string>

#include "porter/comm/transport.hpp"
#include "porter/core/error.hpp"

namespace porter {

inline constexpr const char* kEndedEarly = "it ended before the run was over";

inline void require_postable(const Hosting& hosting, std::uint32_t process, std::uint32_t sender,
                             std::size_t bytes, std::size_t max_message) {
  require(sender < hosting.agents() && hosting.process_of(sender) == process, ErrorKind::usage,
          "agent ", sender, " posts a message in ", hosting.describe(process),
          ", which does not host it");
  require(bytes <= max_message, ErrorKind::usage, "agent ", sender, " posts ", bytes,
          " bytes; the limit is ", max_message);
}

inline std::string gave_up_text(const Hosting& hosting, std::uint32_t process,
                                const std::string& reason) {
  return hosting.describe(process) + " gave up: " + reason;
}

}  // namespace porter
