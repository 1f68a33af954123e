// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "fuzz.hpp"
#include "io/http_request.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"GET / HTTP/1.1\r\n\r\n",
          "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:9100\r\nIf-None-Match: \"abc\"\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "GET / HTTP/1.1\r\nhost\r\n\r\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto request = porter::parse_http_request({reinterpret_cast<const char*>(data), size});
  // What is answered has a path, and no line end that a reply might repeat.
  if (request.refusal.empty() && !request.path.starts_with('/')) std::abort();
  for (const auto* text : {&request.path, &request.host, &request.version})
    if (text->find("\r\n") != text->npos) std::abort();
  return 0;
}
