// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace porter::cli {

/// One agent of a local cluster, as a process.
struct LocalAgent {
  std::string name;
  std::filesystem::path folder, config;
  bool insecure_test_noise = false, trace = false;
  pid_t pid = 0;  ///< 0: does not run
  int exit_code = -1;
  unsigned restarts = 0;

  bool running() const { return pid != 0; }
  bool done() const { return !running() && exit_code == 0; }
};

/// Starts `porter agent` for it; what it prints goes to FOLDER/output.log. It ends with this
/// process.
void start(LocalAgent& agent);
/// Looks whether it has ended; true if a signal killed it.
bool reap(LocalAgent& agent);

/// Ports on the loopback device that nobody listens on, below the ephemeral range.
std::vector<std::uint16_t> free_ports(std::size_t count);

}  // namespace porter::cli
