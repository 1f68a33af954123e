// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace porter {

/// How a run of curl ended: its exit code (0: good) and what it said on its error output.
struct CurlResult {
  int code = 0;
  std::string message;
};

/// Downloads an https or file URL to `path`, going on where the file there ends. A child process
/// with an argument list, no shell. Error{io} if curl cannot be started.
CurlResult run_curl(const std::string& url, const std::filesystem::path& path);

}  // namespace porter
