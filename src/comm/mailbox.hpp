// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "porter/comm/hosting.hpp"
#include "porter/comm/link_meter.hpp"
#include "porter/comm/round_trace.hpp"
#include "porter/comm/transport.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"

namespace porter {

/// What a process has to send and has received over links that may break: the part of a networked
/// transport that is not about connections. All calls may come from any thread.
class Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::chrono::milliseconds start_wait, peer_wait;
    std::uint32_t resume_after = 0;
    bool may_restart = false;
    std::shared_ptr<LinkMeter> links = nullptr;  ///< nothing: nobody watches
    std::shared_ptr<RoundTrace> trace = nullptr;
  };
  Mailbox(const Hosting& hosting, std::uint32_t process, std::vector<std::string> names,
          Options options);

  // The transport's own side.
  /// Waits until begin_sending was called for every neighbour. The last round that one of them
  /// holds.
  std::uint32_t meet();
  void post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes);
  std::span<const Received> collect(std::uint32_t round);
  void settle(std::uint32_t round);
  /// Waits for all neighbours to finish, too. The names of those that were out of reach for too
  /// long instead; they are waited for as long as somebody else is, and nobody is told that they
  /// are lost.
  std::string finish();
  /// The run is over for everybody; the first call counts. The neighbours pass it on.
  void give_up(ErrorKind kind, const std::string& text);
  /// Nobody waits any more: next() and deliver() return.
  void close();
  bool closed();
  /// Sleeps; false as soon as the mailbox is closed.
  bool pause(std::chrono::milliseconds time);
  /// Whether all neighbours have heard that the run is over, or are out of reach.
  void wait_for_news_to_spread(std::chrono::milliseconds limit);

  // A link to a neighbour. It starts with begin_sending, and each connection has its own cursor.
  struct Parcel {
    enum class Kind { message, gave_up, finished } kind;
    std::uint32_t round = 0, sender = 0;
    std::shared_ptr<const Payload> bytes;
    std::string text;
  };
  struct Cursor {
    std::uint64_t next = 0;
    bool said_over = false, said_finished = false;
    bool broken = false;
  };
  /// The neighbour wants everything from `round` on. Error{protocol} if some of it is forgotten.
  void begin_sending(std::uint32_t neighbour, std::uint32_t round, Cursor& cursor);
  /// Blocks until there is something to send; nothing when the cursor is broken or all is closed.
  std::optional<Parcel> next(std::uint32_t neighbour, Cursor& cursor);
  void break_off(std::uint32_t neighbour, Cursor& cursor);
  void acknowledged(std::uint32_t neighbour, std::uint32_t settled, bool heard_finish,
                    bool heard_over);

  // A link from a neighbour.
  /// The number of the new connection; an older one of the same neighbour is over.
  std::uint64_t connected(std::uint32_t neighbour);
  bool is_current(std::uint32_t neighbour, std::uint64_t connection);
  void lost(std::uint32_t neighbour, std::uint64_t connection, const std::string& why);
  /// Why the last attempt to reach a neighbour failed, for messages.
  void note_failure(std::uint32_t neighbour, const std::string& why);
  /// The round from which on this process needs the neighbour's messages.
  std::uint32_t wanted_from(std::uint32_t neighbour);
  /// Blocks while the process is too far behind. Error{protocol} on what the neighbour must not
  /// send.
  void deliver(std::uint32_t neighbour, std::uint32_t round, std::uint32_t sender, Payload bytes);
  void finished(std::uint32_t neighbour);
  std::uint32_t settled();

 private:
  struct Neighbour {
    // to it
    std::condition_variable news;  // for the one that sends to it
    std::deque<Parcel> outbox;
    std::uint64_t first = 0;            // number of the outbox's first parcel
    std::uint32_t forgotten = 0;        // the last round that was dropped from the outbox
    std::optional<std::uint32_t> held;  // the last round that it had when it answered last
    bool heard_finish = false, heard_over = false;
    // from it
    std::uint64_t connection = 0;
    bool present = false, was_present = false, was_lost = false, finished = false;
    // Since when it is away, if it is. A short connection that brings no message does not count,
    // but for the first: who comes back again and again to no effect is out of reach.
    Clock::time_point lost_at = Clock::now(), connected_at = lost_at;
    bool brought_something = false;  // over the present connection
    std::string why;
  };
  struct Over {
    ErrorKind kind;
    std::string text;
  };

  std::string describe(std::uint32_t process) const;
  /// The time when waiting for the neighbour ends; never, if it is there.
  Clock::time_point deadline(const Neighbour& neighbour) const;
  void wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point time);
  void throw_if_over();
  void wake_all();
  void wait_for_all(std::unique_lock<std::mutex>& lock, const std::vector<std::uint32_t>& sources,
                    std::uint32_t round);

  const Hosting hosting_;
  const std::uint32_t process_;
  const std::vector<std::string> names_;
  const Options options_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  // Many threads look at this object; each kind of news wakes only those who wait for it.
  std::condition_variable changed_;  // for collect, finish and pause
  std::condition_variable room_;     // for deliver
  std::map<std::uint32_t, Neighbour> neighbours_;
  std::map<std::uint32_t, std::uint32_t> last_;                      // per source agent: round
  std::map<std::uint32_t, std::map<std::uint32_t, Payload>> inbox_;  // by round, by sender
  std::map<std::uint32_t, Payload> held_;                            // what received_ points into
  std::vector<Received> received_;
  std::optional<std::uint32_t> collecting_;  // the round that is waited for
  std::uint32_t settled_;
  std::optional<Over> over_;
  bool finishing_ = false, closed_ = false;
};

}  // namespace porter
