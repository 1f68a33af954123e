// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace porter {

/// How the link from one neighbour stands.
struct LinkStatus {
  std::string neighbour;
  bool connected = false;
  std::uint64_t reconnects = 0;  ///< connections after the first
  double wait_seconds = 0;       ///< how long rounds have waited for its messages
  double waiting_seconds = 0;    ///< how long the present one waits, if it does
};

/// Counts what happens on the links of a process, for whoever watches it, also in the middle of a
/// round. Waits of a round for several neighbours overlap, so their sum may exceed the time.
class LinkMeter {
 public:
  using Clock = std::chrono::steady_clock;

  void add(const std::string& neighbour);
  void connected(const std::string& neighbour);
  void lost(const std::string& neighbour);
  /// A round needs the neighbour's message now, and it is not there; until it arrives.
  void missing(const std::string& neighbour, Clock::time_point now = Clock::now());
  void arrived(const std::string& neighbour, Clock::time_point now = Clock::now());

  /// In the order of add; a wait that goes on counts up to `now`.
  std::vector<LinkStatus> links(Clock::time_point now = Clock::now()) const;

 private:
  struct Link {
    LinkStatus status;
    std::uint64_t connections = 0;
    std::optional<Clock::time_point> missing_since;
  };
  Link& find(const std::string& neighbour);

  mutable std::mutex mutex_;
  std::vector<Link> links_;
};

}  // namespace porter
