// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "porter/comm/transport.hpp"
#include "porter/train/train.hpp"

namespace porter {

class NetworkTransport;
struct NetworkOptions;

/// What one networked agent is told: the config of the run, the same for all agents, and its own
/// section [agent].
struct AgentOptions {
  Config config;
  std::string name;
  std::uint32_t index = 0;  ///< its number, which is its place among the peers
  std::string listen;
  std::filesystem::path authority, certificate, key;
  std::vector<Peer> peers;  ///< one per agent
  std::string train;        ///< its own data; empty: its part of the config's data
  std::chrono::milliseconds peer_wait{60'000}, start_wait{600'000}, keepalive{10'000};
  std::chrono::milliseconds round_wait{600'000};
  /// What this agent consents to, whatever the config that all share says: nothing is sent without
  /// noise, nor in a run whose certified epsilon ends above its own limit.
  bool require_noise = true;
  std::optional<double> max_epsilon;
  std::string metrics;  ///< "127.0.0.1:9100"; empty: off
  bool json_log = false;
};

/// Reads a config with a section [agent]. Noise is secret unless the config says "simulated", which
/// is Error{privacy} without `insecure_test_noise`. Errors are as for load_config.
AgentOptions load_agent_options(const std::filesystem::path& path,
                                const std::vector<std::string>& overrides,
                                bool insecure_test_noise);

/// The config of such a file without [agent], which need not be there; for a local cluster.
Config load_agent_config(const std::filesystem::path& path,
                         const std::vector<std::string>& overrides, bool insecure_test_noise);

/// How an agent stands; nothing in it comes from its data but what was released.
struct AgentStatus {
  /// starting | measuring | training | finished | stopped | failed
  std::string name, state = "starting";
  std::uint32_t round = 0, rounds = 0;
  std::uint32_t checkpoint = 0;  ///< the round of the last one
  MessageBytes bytes;
  double wait_seconds = 0;  ///< for messages of neighbours
  std::optional<double> epsilon;
  bool secret = false;  ///< whether the noise is
};
/// With the neighbours that a round has waited for longer than a few seconds.
std::string to_json(const AgentStatus& status, const std::vector<LinkStatus>& links);
/// The text format of Prometheus.
std::string to_prometheus(const AgentStatus& status, const std::vector<LinkStatus>& links);

struct AgentHooks {
  /// In place of mutually authenticated TLS.
  std::function<std::unique_ptr<NetworkTransport>(const Hosting&, NetworkOptions)> connect =
      nullptr;
  std::function<void(const std::string&)> log = [](const std::string&) {};
  std::function<void(const AgentStatus&)> after_round = [](const AgentStatus&) {};
  /// Whether the status of this round is needed: the certified epsilon takes its time. Where the
  /// state is a new one nobody is asked.
  std::function<bool()> wants_status = [] { return true; };
  std::function<bool()> stop_requested = [] { return false; };
  std::shared_ptr<LinkMeter> links = std::make_shared<LinkMeter>();
  std::shared_ptr<RoundTrace> trace = nullptr;  ///< where one is wanted
};

/// Error{privacy} where the agent does not consent to a run of so many releases.
void require_consent(const AgentOptions& options, const RunPrivacy& privacy,
                     std::uint64_t releases);

/// Runs the agent in its folder, which holds config.toml with the data that it trains on,
/// checkpoint/, ledger/ and at the end model.npz, privacy.json, metrics.csv and summary.json, with
/// nothing in them that is computed from raw data. With secret noise nothing is charged or sent
/// before all neighbours have been met, and nothing at all where one of them holds more than the
/// folder knows of: it is older than what was released. A folder that holds a run of the same
/// config is continued: the neighbours get the bytes that they got before, or would have; one whose
/// run has finished, there and at the neighbours, is left as it is. interrupted: a stop was
/// requested; the neighbours wait for the agent's return. What else ends the run early is an Error.
/// What the program brings of its own (`sources`; data are this agent's rows) stands in for what
/// the config names, and has to be the same at all agents but for the data. What the schema leaves
/// to be measured is measured first, in folders inside this one, and is in schema.toml then.
TrainStatus run_agent(const AgentOptions& options, const std::filesystem::path& folder,
                      const AgentHooks& hooks, Sources sources = {});

/// Error{usage} unless `folder` is free for this agent, or holds its run; touches nothing.
void check_agent_folder(const AgentOptions& options, const std::filesystem::path& folder);

/// Whether the folder of agent number `agent` has its results and its last checkpoint, so that
/// collect_agents can use it. The agent may be working in it.
bool has_finished(const Config& config, const std::filesystem::path& folder, std::uint32_t agent);

/// What the agents of one run, all finished, have in their folders, as the folder of a simulated
/// run: metrics of the first and the last round, summary, model, statement. Error{io} if a part is
/// missing.
void collect_agents(Config config, const std::vector<std::filesystem::path>& agents,
                    const std::filesystem::path& out);

}  // namespace porter
