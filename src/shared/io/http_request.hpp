// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace porter {

/// What a browser asked for.
struct HttpRequest {
  std::string path = {};     ///< as it stands in the first line
  std::string host = {};     ///< the header Host; empty where there is none
  std::string version = {};  ///< the header If-None-Match; empty where there is none
  std::string refusal = {};  ///< a status, where these bytes are no GET that may be answered
};

inline constexpr std::size_t kLongestHttpRequest = 8192;

/// Reads a request without a body. All but GET is refused, and what has no empty line at its end
/// among the first kLongestHttpRequest bytes. The bytes may come from a stranger.
HttpRequest parse_http_request(std::string_view bytes);

}  // namespace porter
