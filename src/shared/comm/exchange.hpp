// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/frame.hpp"
#include "porter/comm/transport.hpp"

namespace porter {

/// What the frames of a run have in common.
struct ExchangeOptions {
  RunId run{};
  std::uint32_t encoding = 0;  ///< encoding_id of the compressor
  std::size_t dim = 0;
  /// What errors call the agents; empty: "agent 2".
  std::vector<std::string> names = {};
  std::shared_ptr<RoundTrace> trace = nullptr;  ///< where one is wanted
  /// Told of copies of Q that were found wrong, asked for and repaired, one line each.
  std::function<void(const std::string&)> report = [](const std::string&) {};
};

/// One process's end of a run whose agents are spread over several: messages of frames in, messages
/// of frames out. A message holds an update, the same bytes for every neighbour, and where a copy
/// of somebody's Q went wrong a request or all of Q behind it (docs/wire_format.md). An algorithm
/// computes the hosted agents only, and does, for each gossip step 1, 2, ...:
///
///   post(step, agent, ...)   of every hosted agent, in any order and on any thread
///   collect(step, ...)       once
class Exchange {
 public:
  /// The most vectors that a message of any algorithm has.
  static constexpr std::size_t kMaxVectors = 2;
  /// The longest message, for the transport.
  static std::size_t max_message(std::size_t dim, std::size_t agents);

  /// The transport outlives it.
  Exchange(Transport& transport, const Hosting& hosting, std::uint32_t process,
           const ExchangeOptions& options);

  /// The agents that this process computes, ascending.
  const std::vector<std::uint32_t>& hosted() const { return hosting_.hosted(process_); }
  /// The agents of other processes whose messages come here, ascending.
  const std::vector<std::uint32_t>& sources() const { return hosting_.sources(process_); }
  /// is(other) for an agent of every process that gets the messages of a hosted one.
  template <class Is>
  bool all_listeners(std::uint32_t agent, const Is& is) const {
    return std::ranges::all_of(hosting_.targets(agent), [&](std::uint32_t process) {
      return is(hosting_.hosted(process).front());
    });
  }

  /// What errors call an agent.
  const std::string& name(std::uint32_t agent) const { return options_.names[agent]; }

  struct Outgoing {
    std::span<const std::span<const std::byte>> vectors = {};  ///< of the update
    std::uint64_t digest = 0;                ///< of the sender's Q with this update in it, or 0
    std::vector<std::uint32_t> wanted = {};  ///< agents whose Q is asked for
    /// All of Q, a vector each as doubles; empty: nobody asked.
    std::span<const std::span<const double>> dense = {};
  };
  void post(std::uint32_t step, std::uint32_t agent, const Outgoing& message);

  struct Incoming {
    std::uint32_t sender = 0;
    std::uint64_t digest = 0;
    std::vector<std::span<const std::byte>> vectors;  ///< of the update
    std::vector<std::uint32_t> wanted;
    std::vector<std::span<const std::byte>> dense;  ///< none, or as many as vectors
  };
  /// Waits for the step's messages and hands them over, ascending by sender. Error{protocol} names
  /// a sender whose message is not what it must be: `vectors` in the update, and 8 bytes for each
  /// entry of a dense Q.
  void collect(std::uint32_t step, std::size_t vectors,
               const std::function<void(const Incoming&)>& take);

  /// As the transport's.
  std::shared_ptr<SharedMemory> share(std::size_t bytes) { return transport_.share(bytes); }

  void report(const std::string& text) const { options_.report(text); }
  /// What is wrong with an agent's message names its sender.
  void naming(std::uint32_t sender, const std::function<void()>& check) const;

  MessageBytes bytes() const;
  /// How long collect has waited for messages, in seconds.
  double waited() const { return 1e-9 * static_cast<double>(waited_ns_.load()); }

  /// Gets every message that is posted: what a process that restarts must be able to send again.
  using Recorder = std::function<void(std::uint32_t step, std::uint32_t agent,
                                      std::span<const std::byte> message)>;
  void record(Recorder recorder) { recorder_ = std::move(recorder); }

 private:
  FrameHeader header(FrameKind kind, std::uint32_t step, std::uint32_t agent,
                     std::uint64_t digest) const;
  Incoming read(std::uint32_t step, std::size_t vectors, const Received& received) const;

  Transport& transport_;
  Hosting hosting_;
  std::uint32_t process_;
  ExchangeOptions options_;
  FrameLimits limits_;
  Recorder recorder_;
  std::atomic<std::uint64_t> posted_{0}, posted_overhead_{0}, received_{0}, received_overhead_{0};
  std::atomic<std::int64_t> waited_ns_{0};
};

}  // namespace porter
