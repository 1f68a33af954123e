// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace porter {

/// What a process did when, for a look at how messages travel while it computes. Times are those
/// of the machine's steady clock, so traces of processes on one machine lie on one time axis. May
/// be used from several threads; holds the first events only.
class RoundTrace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostEvents = 200'000;

  explicit RoundTrace(std::uint32_t process) : process_(process) {}

  /// A message was handed over from `begin` on. What came before, since the round's last post, was
  /// the gradient; since the last round, mixing.
  void posted(std::uint32_t round, Clock::time_point begin, Clock::time_point end);
  /// The round's messages were waited for, and were all there at `end`.
  void waited(std::uint32_t round, Clock::time_point begin, Clock::time_point end);
  /// They are decoded and applied.
  void taken(std::uint32_t round, Clock::time_point end);
  /// A message has come in over the network.
  void arrived(std::uint32_t round, const std::string& from, Clock::time_point at);

  /// A list of events in the format of chrome://tracing and ui.perfetto.dev.
  std::string to_json() const;

 private:
  struct Event {
    std::string name;
    std::uint32_t round;
    Clock::time_point begin, end;  // the same: something that happened at once
  };
  void add(std::string name, std::uint32_t round, Clock::time_point begin, Clock::time_point end);

  const std::uint32_t process_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::uint32_t round_ = 0;  // of the last post
  Clock::time_point last_{};
};

}  // namespace porter
