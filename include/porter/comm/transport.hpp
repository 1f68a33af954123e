// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace porter {

/// The bytes of one agent of another process.
struct Received {
  std::uint32_t sender;
  std::span<const std::byte> bytes;
};

/// One process's end of what moves a round's bytes between the agents of different processes. It
/// knows no mathematics and does not look into the bytes. Who runs where and who listens to whom (a
/// Hosting) is given when it is made. Every process does the same:
///
///   for each round, ascending, the same ones everywhere:
///     post(round, agent, bytes)   once for each hosted agent
///     ...                         compute: the bytes travel meanwhile
///     collect(round)              once
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
  virtual void post(std::uint32_t round, std::uint32_t sender,
                    std::span<const std::byte> bytes) = 0;

  /// Blocks until every message of the round for the hosted agents is there; ascending by sender.
  /// The bytes stay valid until the next round's first post. Error{network} names the process that
  /// gave up or is out of reach; Error{protocol} one that sent what it must not.
  virtual std::span<const Received> collect(std::uint32_t round) = 0;

  /// Blocks until all neighbours have finished, too. Throws as collect does.
  virtual void finish() = 0;

  /// Gives up: the others' collect and finish throw an Error that names this process and the
  /// reason. Only the first call counts. May be called from any thread.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace porter
