// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "porter/algo/problem.hpp"
#include "porter/comm/hosting.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/comm/round_trace.hpp"
#include "porter/comm/transport.hpp"

namespace porter {

class RunPrivacy;

/// What a transport is made for.
struct RunShape {
  const Hosting& hosting;
  const Network& network;
  std::size_t dim, max_message;
  const RunPrivacy& privacy;
};

/// How a process takes part in a run that is spread over several. Agents are hosted in blocks of
/// consecutive numbers.
struct Engine {
  std::uint32_t process = 0;
  std::size_t processes = 1;
  /// Called once, when it is known who talks to whom.
  std::function<std::unique_ptr<Transport>(const RunShape&)> connect;
  /// Where the processes can also meet outside the transport: process 0 then gets the rows of all
  /// agents for metrics and checkpoints. Outlives the experiment.
  MpiSession* session = nullptr;
  /// What errors call the agents; empty: by their numbers.
  std::vector<std::string> names = {};
  std::shared_ptr<RoundTrace> trace = nullptr;  ///< where one is wanted
  /// Told what went wrong and was repaired, one line each.
  std::function<void(const std::string&)> report = [](const std::string&) {};
};

/// Collective: Error{usage} at every rank, naming keys and ranks, unless all give the same facts.
void require_equal_facts(MpiSession& session, const std::map<std::string, std::string>& facts);

/// The ranks of a job are the processes.
Engine mpi_engine(MpiSession& session, std::function<void(const std::string&)> report);

}  // namespace porter
