// SPDX-License-Identifier: Apache-2.0
#include "http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{1000}, kLook{100};
constexpr std::string_view kRequestEnd = "\r\n\r\n";

FileDescriptor listen_on(const std::string& address, std::string_view what) {
  const auto spec = split_spec(address);
  const auto port = spec.number<std::uint16_t>();
  sockaddr_in at{};
  at.sin_family = AF_INET;
  require(port && inet_pton(AF_INET, std::string(spec.name).c_str(), &at.sin_addr) == 1,
          ErrorKind::usage, what, ": expected ADDRESS:PORT such as 127.0.0.1:9100, found \"",
          address, "\"");
  at.sin_port = htons(*port);
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(fd.get(), 8) != 0)
    fail(ErrorKind::network, what, ": cannot listen on ", address, ": ", std::strerror(errno));
  return fd;
}

std::uint16_t port_of(int socket) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

// Up to the empty line, or as much as may come in time; nothing from who is silent or leaves.
std::string read_request(int client) {
  std::string request;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (request.find(kRequestEnd) == request.npos && request.size() < kLongestHttpRequest) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{client, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return {};
    std::array<char, 1024> buffer;
    const auto count = ::recv(client, buffer.data(), buffer.size(), 0);
    if (count <= 0) return {};
    request.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return request;
}

void send_all(int client, std::string_view bytes) {
  const timeval patience{1, 0};  // for a client that does not read what it asked for
  ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  while (!bytes.empty()) {
    const auto sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// What was not read would make the system break the connection before the reply has arrived.
void drain(int client) {
  ::shutdown(client, SHUT_WR);
  std::array<char, 4096> buffer;
  for (int i = 0; i < 32; ++i) {
    pollfd waiting{client, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(kLook.count())) <= 0) return;
    if (::recv(client, buffer.data(), buffer.size(), 0) <= 0) return;
  }
}

// Nothing is stored, framed or guessed at, and no other site may have it.
std::string reply_text(const HttpReply& reply) {
  return fmt::format(
      "HTTP/1.1 {}\r\n{}{}Cache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n{}",
      reply.status,
      reply.body.empty() ? ""
                         : fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", reply.type,
                                       reply.body.size()),
      reply.version.empty() ? "" : fmt::format("ETag: {}\r\n", reply.version), reply.body);
}

HttpReply refused(const std::string& status) { return {.status = status, .body = status + "\n"}; }

}  // namespace

HttpServer::HttpServer(const std::string& address, std::string_view what, Answer answer)
    : answer_(std::move(answer)),
      socket_(listen_on(address, what)),
      port_(port_of(socket_.get())),
      thread_([this] { serve(); }) {}

HttpServer::~HttpServer() {
  stopping_ = true;
  thread_.join();
}

void HttpServer::serve() {
  while (!stopping_) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(kLook.count())) <= 0) continue;
    const FileDescriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() >= 0)
      handle(client.get());
    else
      std::this_thread::sleep_for(kLook);  // where no descriptor is left, the client still waits
  }
}

void HttpServer::handle(int client) const {
  const auto bytes = read_request(client);
  if (bytes.empty()) return;
  const auto request = parse_http_request(bytes);
  HttpReply reply;
  try {
    reply = request.refusal.empty() ? answer_(request) : refused(request.refusal);
  } catch (const std::exception& error) {
    reply = {.status = "503 Service Unavailable", .body = std::string(error.what()) + "\n"};
  }
  send_all(client, reply_text(reply));
  if (!request.refusal.empty()) drain(client);
}

HttpServer::Answer metrics_page(std::function<std::string()> text) {
  return [text = std::move(text)](const HttpRequest& request) -> HttpReply {
    if (request.path != "/metrics")
      return {.status = "404 Not Found", .body = "the metrics are at /metrics\n"};
    return {.type = "text/plain; version=0.0.4", .body = text()};
  };
}

}  // namespace porter::cli
