// SPDX-License-Identifier: Apache-2.0
// Processes of a network, with keys, on the loopback device.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/tls.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {

inline constexpr std::size_t kMaxMessage = 4'000'000;

/// A port that nobody listens on, below those that the system gives to connections.
inline int free_port() {
  static int next = 20'000 + static_cast<int>(::getpid() * 37L % 10'000);
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = 20'000 + ++next % 12'000;
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (free) return port;
  }
  throw std::runtime_error("no free port");
}

/// An authority with certificates for agent-0, agent-1, ...
class KeyRing {
 public:
  explicit KeyRing(std::size_t agents) {
    init_authority(folder(), "test", {.days = 10});
    for (std::size_t i = 0; i < agents; ++i) issue_certificate(folder(), name(i), {.days = 1});
  }
  static std::string name(std::size_t i) { return "agent-" + std::to_string(i); }
  Identity identity(std::size_t i) const {
    return load_identity(folder() / "ca.crt", folder() / (name(i) + ".crt"),
                         folder() / (name(i) + ".key"));
  }

 private:
  std::filesystem::path folder() const { return dir_ / "keys"; }
  TempDir dir_;
};

inline const KeyRing& key_ring() {
  static const KeyRing keys(5);
  return keys;
}

/// Options of all processes; they find each other.
inline std::vector<NetworkOptions> network_options(std::size_t processes) {
  std::vector<Peer> peers;
  for (std::size_t p = 0; p < processes; ++p)
    peers.push_back({KeyRing::name(p), "127.0.0.1:" + std::to_string(free_port())});
  std::vector<NetworkOptions> options(processes);
  for (std::uint32_t p = 0; p < processes; ++p) {
    options[p].identity = key_ring().identity(p);
    options[p].process = p;
    options[p].peers = peers;
    options[p].listen = peers[p].address;
    options[p].facts = {{"d", "124"}, {"graph", "ring"}};
    options[p].max_message = kMaxMessage;
    options[p].start_wait = std::chrono::seconds(30);
    options[p].peer_wait = std::chrono::seconds(30);
  }
  return options;
}

/// What a transport reports.
class Lines {
 public:
  std::function<void(const std::string&)> listener() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      all_ += line + '\n';
      changed_.notify_all();
    };
  }
  std::string all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  /// Throws if it never comes.
  void wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60),
                           [&] { return all_.find(part) != all_.npos; }))
      throw std::runtime_error("waited in vain for \"" + part + "\" in\n" + all_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string all_;
};

/// What the transport says when it cannot go on.
inline Error failure_of(Transport& end, std::uint32_t round) {
  try {
    end.collect(round);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::usage, "no error"};
}

}  // namespace porter
