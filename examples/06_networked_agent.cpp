// SPDX-License-Identifier: Apache-2.0
// Agents inside your own program: each has its data, its key and its folder, and talks to its
// neighbours over mutually authenticated TLS. Here three of them share a program, each on a thread
// of its own; in earnest each organisation runs one.
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "porter/porter.hpp"

using namespace porter;

constexpr std::uint32_t kAgents = 3;

std::string name_of(std::uint32_t agent) { return "hospital-" + std::to_string(agent); }

// Two features and a label that follows the first.
Dataset own_data(std::uint32_t agent) {
  Dataset data;
  data.features = 2;
  data.classes = {"0", "1"};
  for (RngStream rng(3, Draw::test, agent, 0); data.rows() < 200;) {
    const auto a = static_cast<float>(rng.normal()), b = static_cast<float>(rng.normal());
    data.values.insert(data.values.end(), {a, b});
    data.labels.push_back(a > 0 ? 1.0F : 0.0F);
  }
  return data;
}

TrainStatus run(std::uint32_t agent, const Config& config, int first_port) {
  AgentOptions options;
  options.config = config;
  options.name = name_of(agent);
  options.index = agent;
  options.authority = "keys/ca.crt";
  options.certificate = "keys/" + options.name + ".crt";
  options.key = "keys/" + options.name + ".key";
  for (std::uint32_t peer = 0; peer < kAgents; ++peer)
    options.peers.push_back({name_of(peer), "127.0.0.1:" + std::to_string(first_port + int(peer))});
  options.listen = options.peers[agent].address;
  AgentHooks hooks;
  hooks.log = [&](const std::string& line) {
    std::printf("%s: %s\n", options.name.c_str(), line.c_str());
  };
  RunData data{std::make_shared<const Dataset>(own_data(agent)), nullptr, "two features"};
  return run_agent(options, options.name, hooks, {.data = std::move(data)});
}

int main() {
  const auto config = parse_config(
      "algorithm = {name = 'porter-dp', rounds = 200, step = 0.2, batch = 20}\n"
      "network = {agents = 3, graph = 'complete'}\n"
      "privacy = {epsilon = 2, delta = 1e-4, noise = 'secure'}\nrun = {engine = 'tls'}",
      "hospitals");
  init_authority("keys", "three hospitals", {.days = 365});
  for (std::uint32_t agent = 0; agent < kAgents; ++agent)
    issue_certificate("keys", name_of(agent), {.days = 30});  // not beyond the authority's own end
  const int first_port = 20000 + getpid() % 12000;
  std::vector<TrainStatus> ends(kAgents, TrainStatus::interrupted);
  {
    std::vector<std::jthread> hospitals;
    for (std::uint32_t agent = 0; agent < kAgents; ++agent)
      hospitals.emplace_back([&, agent] { ends[agent] = run(agent, config, first_port); });
  }
  const auto statement = load_statement(std::filesystem::path(name_of(0)) / "privacy.json");
  return ends == std::vector(kAgents, TrainStatus::finished) && statement->guaranteed ? 0 : 1;
}
