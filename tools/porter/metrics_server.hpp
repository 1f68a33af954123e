// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "io/file.hpp"

namespace porter::cli {

/// Answers GET /metrics with a text, one request at a time; a client that is slow or says too much
/// is dropped after a second.
class MetricsServer {
 public:
  /// Listens on "ADDRESS:PORT", where ADDRESS is IPv4. Error{usage} or Error{network} if that
  /// cannot be. `text` is called from the server's thread.
  MetricsServer(const std::string& address, std::function<std::string()> text);
  ~MetricsServer();

 private:
  void serve();
  void answer(int client) const;

  std::function<std::string()> text_;
  FileDescriptor socket_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace porter::cli
