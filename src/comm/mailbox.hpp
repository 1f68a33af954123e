// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "porter/comm/transport.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"

namespace porter {

/// What a process has to send and has received over links that may break: the part of a networked
/// transport that is not about connections. All calls may come from any thread; those of the links
/// do not block.
class Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    /// How long a neighbour may be out of reach: before it was reached first, and later.
    std::chrono::milliseconds start_wait, peer_wait;
    /// How long one may be there and not send what a step needs.
    std::chrono::milliseconds round_wait{600'000};
    std::uint32_t resume_after = 0;
    std::uint32_t forgotten = 0;  ///< what a restarted process cannot send again
    bool may_restart = false;
    /// How many steps are kept for a neighbour that does not say that they are safe.
    std::uint32_t most_unsettled = ~std::uint32_t{0};
    std::shared_ptr<LinkMeter> links = nullptr;  ///< nothing: nobody watches
    std::shared_ptr<RoundTrace> trace = nullptr;
    /// Links have something to do; called with the mailbox locked.
    std::function<void()> wake = [] {};
    /// Lets links work in the thread that waits for a step's messages, until one of them may have
    /// come or that time is there. Nothing: links work elsewhere.
    std::function<void(Clock::time_point until)> drive = nullptr;
    std::function<void(const std::string&)> report = [](const std::string&) {};
  };
  Mailbox(const Hosting& hosting, std::uint32_t process, std::vector<std::string> names,
          Options options);

  // The transport's own side.
  /// Waits until begin_sending was called for every neighbour. The last step that one of them
  /// holds, or has seen.
  std::uint32_t meet();
  /// Links are not woken for it. Error{protocol} where a neighbour has settled too little for it.
  void post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes);
  std::span<const Received> collect(std::uint32_t step);
  void settle(std::uint32_t step);
  /// Waits for all neighbours to finish, too. The names of those that were out of reach for too
  /// long instead; they are waited for as long as somebody else is, and nobody is told that they
  /// are lost.
  std::string finish();
  /// The run is over for everybody; the first call counts. Here the reason is `text`; others are
  /// told that the origin gave up, and the public reason. The neighbours pass it on.
  void give_up(ErrorKind kind, const std::string& text, std::uint32_t origin,
               const std::string& reason);
  /// The same for what this process has found itself, and others may know.
  void give_up(const Error& error) { give_up(error.kind(), error.what(), process_, error.what()); }
  /// Returns when all neighbours have heard that the run is over, or are out of reach.
  void wait_for_news_to_spread(std::chrono::milliseconds limit);

  // A link to a neighbour. Each connection has its own cursor.
  struct Parcel {
    enum class Kind { message, gave_up, finished } kind;
    std::uint32_t step = 0, sender = 0;  ///< of who gave up: the sender is its process
    std::shared_ptr<const Payload> bytes;
    std::string text;
  };
  struct Cursor {
    std::uint64_t next = 0;
    bool said_over = false, said_finished = false;
  };
  /// The neighbour is reached and wants everything from `step` on; it may have `seen` more before
  /// it restarted. Error{protocol} if some of what it wants is forgotten.
  void begin_sending(std::uint32_t neighbour, std::uint32_t step, Cursor& cursor,
                     std::uint32_t seen = 0);
  /// What is to be sent next, if there is something.
  std::optional<Parcel> next(std::uint32_t neighbour, Cursor& cursor);
  void acknowledged(std::uint32_t neighbour, std::uint32_t settled);
  void heard_finish(std::uint32_t neighbour) { mark(neighbour, &Neighbour::heard_finish); }
  void heard_over(std::uint32_t neighbour) { mark(neighbour, &Neighbour::heard_over); }
  /// An attempt to reach the neighbour failed, or its connection ended; "a cannot reach b: …".
  void unreached(std::uint32_t neighbour, const std::string& why);
  /// The neighbour takes part in another run, or says so. It counts as out of reach; but if all
  /// neighbours say that, and none has ever taken part in the same, the mistake is here: give_up.
  void refused(std::uint32_t neighbour, const std::string& why);

  /// The neighbour is at a later stage of the run: this one is over there.
  void gone_on(std::uint32_t neighbour);

  // A link from a neighbour.
  void connected(std::uint32_t neighbour);
  void lost(std::uint32_t neighbour);
  /// The step from which on this process needs the neighbour's messages.
  std::uint32_t wanted_from(std::uint32_t neighbour);
  /// False while the process is too far behind to take it. Error{protocol} on what the neighbour
  /// must not send.
  bool deliver(std::uint32_t neighbour, std::uint32_t step, std::uint32_t sender, Payload& bytes);
  void finished(std::uint32_t neighbour) { mark(neighbour, &Neighbour::finished); }
  std::uint32_t settled();
  /// That the run is over, if it is.
  std::optional<Parcel> over();

  // Who waits for whom: a neighbour that waits itself is not the one to blame.
  bool waits_for_others_than(std::uint32_t neighbour);
  void says_it_waits(std::uint32_t neighbour, bool waits);

 private:
  struct Neighbour {
    // to it
    std::deque<Parcel> outbox;
    std::uint64_t first = 0;            // number of the outbox's first parcel
    std::uint32_t forgotten = 0;        // the last step that was dropped from the outbox
    std::optional<std::uint32_t> held;  // the last step that it had had when it answered last
    bool heard_finish = false, heard_over = false;
    bool reached = false, refuses = false, gone_on = false;
    Clock::time_point unreached_at = Clock::now(), reached_at = unreached_at;
    std::string why_unreached;
    // from it
    bool present = false, was_present = false, was_lost = false, finished = false;
    // Since when it is away, if it is. A short connection that brings no message does not count,
    // but for the first: who comes back again and again to no effect is out of reach.
    Clock::time_point lost_at = Clock::now(), connected_at = lost_at;
    bool brought_something = false;  // over the present connection
    // What it sends again counts as progress, each step once until there is a new one.
    std::uint32_t sent_again = 0;
    Clock::time_point progress_at = lost_at;
    bool waits = false;
  };
  struct Over {
    ErrorKind kind;
    std::string text;
    std::uint32_t origin;
    std::string reason;
  };

  const std::string& name_of(std::uint32_t process) const { return names_[process]; }
  std::chrono::milliseconds wait_for(bool was_there) const {
    return was_there ? options_.peer_wait : options_.start_wait;
  }
  void mark(std::uint32_t neighbour, bool Neighbour::*flag);
  Clock::time_point away_until(const Neighbour& neighbour) const;
  /// The time when waiting for the neighbour ends, if it began then.
  Clock::time_point deadline(const Neighbour& neighbour, Clock::time_point began) const;
  void throw_if_over() const;
  void make_room();
  void set_over(ErrorKind kind, std::string text, std::uint32_t origin, std::string reason);
  void blame(std::uint32_t process, std::uint32_t step, Clock::time_point began);
  std::vector<std::uint32_t> missing(std::uint32_t step) const;
  void wait_for_all(std::unique_lock<std::mutex>& lock, std::uint32_t step);
  void pause(std::unique_lock<std::mutex>& lock, Clock::time_point until);
  void say_who_is_missing(std::unique_lock<std::mutex>& lock, std::uint32_t step);

  const Hosting hosting_;
  const std::uint32_t process_;
  const std::vector<std::string> names_;
  const Options options_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, Neighbour> neighbours_;
  std::map<std::uint32_t, std::uint32_t> last_;                      // per source agent: step
  std::map<std::uint32_t, std::map<std::uint32_t, Payload>> inbox_;  // by step, by sender
  std::map<std::uint32_t, Payload> held_;                            // what received_ points into
  std::vector<Received> received_;
  std::optional<std::uint32_t> collecting_;  // the step that is waited for
  std::uint32_t settled_;
  std::optional<Over> over_;
  bool finishing_ = false;
  bool somebody_agrees_ = false;  // a neighbour has come, or welcomed this process, to the same run
  bool stalled_ = false;          // a link has something for which there was no room
};

}  // namespace porter
