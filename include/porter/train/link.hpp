// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "porter/comm/transport.hpp"
#include "porter/train/assemble.hpp"

namespace porter {

class Exchange;
class MpiSession;
class RoundTrace;

/// How a process takes part in a run that is spread over several: whose agents are where, and what
/// carries the messages.
struct Link {
  std::uint32_t process = 0;
  std::shared_ptr<const Hosting> hosting;
  std::shared_ptr<Transport> transport = nullptr;
  /// Where the processes can also meet outside the transport: process 0 then gets the rows of all
  /// agents for metrics and checkpoints. Outlives the trainer.
  MpiSession* session = nullptr;
  /// What errors call the agents; empty: by their numbers.
  std::vector<std::string> names = {};
  std::shared_ptr<RoundTrace> trace = nullptr;  ///< where one is wanted
  /// Told what went wrong and was repaired, one line each.
  std::function<void(const std::string&)> report = [](const std::string&) {};
  /// What secret noise needs where the process may restart. Outlives the trainer.
  ReleaseJournal* journal = nullptr;
  /// Where neighbours share secret noise. Outlives the trainer.
  PairSteps* pair_steps = nullptr;
};

/// Blocks of consecutive agents, one block per process. Error{usage} if there are more processes.
std::shared_ptr<const Hosting> host_agents(const RunParts& parts, std::size_t processes);
/// The end of the frames at this process. The link outlives it.
std::unique_ptr<Exchange> make_exchange(const Link& link, const RunParts& parts);

/// What processes must agree on: every key of the config that changes results, files by their
/// names, and what graph, weights, model and x0 turned out to be.
std::map<std::string, std::string> shared_facts(const Config& config, const Network& network,
                                                std::size_t dim,
                                                const std::vector<double>& start = {});
/// Collective: Error{usage} at every rank, naming keys and ranks, unless all give the same facts.
void require_equal_facts(MpiSession& session, const std::map<std::string, std::string>& facts);

/// The ranks of a job are the processes. Collective: compares first what they are to train.
Link mpi_link(MpiSession& session, const RunParts& parts,
              std::function<void(const std::string&)> report);

}  // namespace porter
