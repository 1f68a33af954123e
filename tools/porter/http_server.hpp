// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "io/file.hpp"
#include "io/http_request.hpp"

namespace porter::cli {

struct HttpReply {
  std::string status = "200 OK";
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string version = {};  ///< ETag; empty: none
};

/// Answers GET requests, one at a time; a client that is slow is dropped after a second, one that
/// says too much is refused.
class HttpServer {
 public:
  using Answer = std::function<HttpReply(const HttpRequest&)>;

  /// Listens on "ADDRESS:PORT", where ADDRESS is IPv4 and port 0 means any that is free.
  /// Error{usage} or Error{network}, with `what` asked for it, if that cannot be. `answer` is
  /// called from the server's thread; what it throws is a reply 503 with the text.
  HttpServer(const std::string& address, std::string_view what, Answer answer);
  ~HttpServer();

  std::uint16_t port() const { return port_; }

 private:
  void serve();
  void handle(int client) const;

  Answer answer_;
  FileDescriptor socket_;
  std::uint16_t port_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// The page of Prometheus: `text` at /metrics.
HttpServer::Answer metrics_page(std::function<std::string()> text);

}  // namespace porter::cli
