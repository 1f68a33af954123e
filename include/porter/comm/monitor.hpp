// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace porter {

/// Bytes so far: what was posted and received, once per message and process; `overhead` is the part
/// that is not the vectors of updates.
struct MessageBytes {
  std::uint64_t posted = 0, received = 0, posted_overhead = 0, received_overhead = 0;
};

/// How the link from one neighbour stands.
struct LinkStatus {
  std::string neighbour;
  bool connected = false;
  std::uint64_t reconnects = 0;  ///< connections after the first
  double wait_seconds = 0;       ///< how long rounds have waited for its messages
  double waiting_seconds = 0;    ///< how long the present one waits, if it does
};

/// Counts what happens on the links of a process, for whoever watches it, also in the middle of a
/// step. Waits of a step for several neighbours overlap, so their sum may exceed the time.
class LinkMeter {
 public:
  using Clock = std::chrono::steady_clock;

  void add(const std::string& neighbour);
  void connected(const std::string& neighbour);
  void lost(const std::string& neighbour);
  /// A step needs the neighbour's message now, and it is not there; until it arrives.
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

/// What a process did when, for a look at how messages travel while it computes. Times are those
/// of the machine's steady clock, so traces of processes on one machine lie on one time axis. May
/// be used from several threads; holds the first events only.
class RoundTrace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxEvents = 200'000;

  explicit RoundTrace(std::uint32_t process) : process_(process) {}

  /// A message was handed over from `begin` on. What came before, since the step's last post, was
  /// the gradient; since the last step, mixing.
  void posted(std::uint32_t step, Clock::time_point begin, Clock::time_point end);
  /// The step's messages were waited for, and were all there at `end`.
  void waited(std::uint32_t step, Clock::time_point begin, Clock::time_point end);
  /// They are decoded and applied.
  void taken(std::uint32_t step, Clock::time_point end);
  /// A message has come in over the network.
  void arrived(std::uint32_t step, const std::string& from, Clock::time_point at);

  /// A list of events in the format of chrome://tracing and ui.perfetto.dev.
  std::string to_json() const;

 private:
  struct Event {
    std::string name;
    std::uint32_t step;
    Clock::time_point begin, end;  // the same: something that happened at once
  };
  void add(std::string name, std::uint32_t step, Clock::time_point begin, Clock::time_point end);

  const std::uint32_t process_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::uint32_t step_ = 0;  // of the last post
  Clock::time_point last_{};
};

}  // namespace porter
