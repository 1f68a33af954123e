// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace porter {

/// Which process hosts which agents, and who listens to whom. A value; what exists is valid.
class Hosting {
 public:
  /// process_of[i] is the process of agent i; listeners[i] are the agents that get its messages.
  /// Error{usage} unless every process from 0 on hosts an agent, and a process that hears another
  /// is heard by it: then none can run ahead of a neighbour by more than one round.
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

}  // namespace porter
