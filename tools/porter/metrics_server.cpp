// SPDX-License-Identifier: Apache-2.0
#include "metrics_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter::cli {
namespace {

constexpr std::size_t kLongestRequest = 4096;
constexpr std::chrono::milliseconds kPatience{1000}, kLook{100};

FileDescriptor listen_on(const std::string& address) {
  const auto spec = split_spec(address);
  const auto port = spec.number<std::uint16_t>();
  sockaddr_in at{};
  at.sin_family = AF_INET;
  require(port && inet_pton(AF_INET, std::string(spec.name).c_str(), &at.sin_addr) == 1,
          ErrorKind::usage, "agent.metrics: expected ADDRESS:PORT such as 127.0.0.1:9100, found \"",
          address, "\"");
  at.sin_port = htons(*port);
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(fd.get(), 8) != 0)
    fail(ErrorKind::network, "agent.metrics: cannot listen on ", address, ": ",
         std::strerror(errno));
  return fd;
}

// The request's first line, or nothing if it does not come in time.
std::string read_request(int client) {
  std::string request;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (request.find("\r\n\r\n") == request.npos && request.size() < kLongestRequest) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{client, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return {};
    std::array<char, 1024> buffer;
    const auto count = ::recv(client, buffer.data(), buffer.size(), 0);
    if (count <= 0) return {};
    request.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return request.substr(0, request.find("\r\n"));
}

}  // namespace

MetricsServer::MetricsServer(const std::string& address, std::function<std::string()> text)
    : text_(std::move(text)), socket_(listen_on(address)), thread_([this] { serve(); }) {}

MetricsServer::~MetricsServer() {
  stopping_ = true;
  thread_.join();
}

void MetricsServer::serve() {
  while (!stopping_) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(kLook.count())) <= 0) continue;
    const FileDescriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() >= 0) answer(client.get());
  }
}

void MetricsServer::answer(int client) const {
  const auto request = read_request(client);
  if (request.empty()) return;
  const bool found = request.starts_with("GET /metrics ");
  const auto body = found ? text_() : std::string("the metrics are at /metrics\n");
  const auto reply = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      found ? "200 OK" : "404 Not Found", body.size(), body);
  const timeval patience{1, 0};  // for a client that does not read what it asked for
  ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  for (std::string_view left = reply; !left.empty();) {
    const auto sent = ::send(client, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace porter::cli
