// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace porter {

/// Which process hosts which agents, and who listens to whom. A value; what exists is valid.
class Hosting {
 public:
  /// process_of[i] is the process of agent i; listeners[i] are the agents that get its messages.
  /// Error{usage} unless every process from 0 on hosts an agent, and a process that hears another
  /// is heard by it: then none can run ahead of a neighbour by more than one step.
  Hosting(std::vector<std::uint32_t> process_of, std::vector<std::vector<std::uint32_t>> listeners);

  std::size_t agents() const { return process_of_.size(); }
  std::size_t processes() const { return hosted_.size(); }
  std::uint32_t process_of(std::size_t agent) const { return process_of_[agent]; }
  /// The agents of a process; all lists are ascending and without repetition.
  const std::vector<std::uint32_t>& hosted(std::size_t process) const { return hosted_[process]; }
  /// The other processes in which somebody listens to the agent: each gets its message once.
  const std::vector<std::uint32_t>& targets(std::size_t agent) const { return targets_[agent]; }
  /// The agents of other processes that somebody in `process` listens to.
  const std::vector<std::uint32_t>& sources(std::size_t process) const { return sources_[process]; }
  /// The processes that exchange messages with `process`.
  std::vector<std::uint32_t> neighbours(std::size_t process) const;

  /// "process 2 (agents 4, 5)", for messages.
  std::string describe(std::size_t process) const;

 private:
  std::vector<std::uint32_t> process_of_;
  std::vector<std::vector<std::uint32_t>> hosted_, targets_, sources_;
};

/// Agents in blocks of consecutive numbers whose sizes differ by at most one. Error{usage} unless
/// 1 <= processes <= agents.
Hosting host_in_blocks(std::vector<std::vector<std::uint32_t>> listeners, std::size_t processes);

/// Where a process of the hosting is found, and the name that its certificate must carry.
struct Peer {
  std::string name, address;  ///< "hospital-b", "10.0.0.2:7400"
};

/// The bytes of one agent of another process.
struct Received {
  std::uint32_t sender;
  std::span<const std::byte> bytes;
};

/// Memory that the processes of one machine share, a part for each agent. An agent's own process
/// writes to its part, all may read it.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  /// It starts at a cache line; empty if the agent is on another machine.
  virtual std::span<std::byte> part(std::uint32_t agent) = 0;
  /// Between writing and the post that tells others of it, and between the collect and reading.
  virtual void sync() = 0;
};

/// One process's end of what moves a step's bytes between the agents of different processes. It
/// knows no mathematics and does not look into the bytes. Who runs where and who listens to whom (a
/// Hosting) is given when it is made. Every process does the same:
///
///   for each step, ascending, the same ones everywhere:
///     post(step, agent, bytes)   once for each hosted agent
///     ...                         compute: the bytes travel meanwhile
///     collect(step)              once
///   finish()
///
/// Messages of agents to agents of the same process are not its business.
class Transport {
 public:
  /// Without finish() the other processes are told that this one ended too early.
  virtual ~Transport() = default;

  /// Hands a message over for all who listen to `sender`. Copies the bytes, does not wait for
  /// anybody; may be called from several threads. Error{usage} if the agent is not hosted here or
  /// the message is longer than the limit the transport was made with.
  virtual void post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes) = 0;

  /// Blocks until every message of the step for the hosted agents is there; ascending by sender.
  /// The bytes stay valid until the next step's first post. Error{network} names the process that
  /// gave up or is out of reach; Error{protocol} one that sent what it must not.
  virtual std::span<const Received> collect(std::uint32_t step) = 0;

  /// Blocks until all neighbours have finished, too. Throws as collect does.
  virtual void finish() = 0;

  /// Memory with `bytes` for each agent, a multiple of a cache line, which may outlive the
  /// transport. Before the first step; all processes ask for the same, or none does. Nothing where
  /// they cannot share any.
  virtual std::shared_ptr<SharedMemory> share([[maybe_unused]] std::size_t bytes) {
    return nullptr;
  }

  /// Gives up: the others' collect and finish throw an Error that names this process and the
  /// reason. Only the first call counts. May be called from any thread.
  virtual void abort(const std::string& reason) noexcept = 0;
};

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
