// SPDX-License-Identifier: Apache-2.0
// From the folders of all agents of a run to the folder that a simulation of it would have.
#include <algorithm>

#include "agent_folder.hpp"
#include "difference.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/picture.hpp"
#include "porter/io/file.hpp"
#include "porter/run/agent.hpp"
#include "summary.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

AgentCheckpoint final_checkpoint(const Config& config, const fs::path& folder,
                                 std::uint32_t agent) {
  auto checkpoint = AgentFolder(folder, config, {run_id(config), agent}).load_checkpoint();
  require(checkpoint && checkpoint->round == config.algorithm.rounds, ErrorKind::io,
          folder.string(), ": this agent has not finished");
  return std::move(*checkpoint);
}

// Where an agent's own row is: alone, or among those of its neighbours.
std::size_t own_row(const Npz& part, const NpyArray& rows, std::size_t agent,
                    const std::string& source) {
  if (rows.shape.at(0) == 1) return 0;
  const auto& kept = member(part, "agents", source).values;
  return static_cast<std::size_t>(std::ranges::find(kept, static_cast<double>(agent)) -
                                  kept.begin());
}

// Each agent's own row of each matrix; counts are summed up or the largest.
Npz merge(const std::vector<Npz>& parts, const std::vector<fs::path>& folders) {
  Npz whole = parts[0];
  whole.erase("agents");
  whole.erase("sent");
  whole.erase("owner");
  for (auto& [name, array] : whole) {
    if (!name.starts_with("state_")) continue;
    const auto dim = array.shape.at(1);
    array = {{parts.size(), dim}, {}};
    for (std::size_t agent = 0; agent < parts.size(); ++agent) {
      const auto source = folders[agent].string();
      const auto& rows = member(parts[agent], name, source);
      const auto at = own_row(parts[agent], rows, agent, source);
      require(rows.values.size() >= (at + 1) * dim, ErrorKind::io, source, ": ", name,
              " has no row of agent ", agent);
      const auto row = rows.values.begin() + static_cast<std::ptrdiff_t>(at * dim);
      array.values.insert(array.values.end(), row, row + static_cast<std::ptrdiff_t>(dim));
    }
  }
  auto& counters = whole["counters"].values;
  for (std::size_t agent = 1; agent < parts.size(); ++agent) {
    const auto& other = member(parts[agent], "counters", folders[agent].string()).values;
    require(other.size() == counters.size() && counters.size() == 7, ErrorKind::io,
            folders[agent].string(), ": not a checkpoint of this run");
    for (const std::size_t sum : {4U, 5U}) counters[sum] += other[sum];
    for (const std::size_t most : {1U, 6U}) counters[most] = std::max(counters[most], other[most]);
    const auto& x_out = member(parts[agent], "x_out", folders[agent].string());
    if (!x_out.values.empty()) whole["x_out"] = x_out;
  }
  return whole;
}

}  // namespace

void collect_agents(Config config, const std::vector<fs::path>& agents, const fs::path& out) {
  config.run.engine = EngineKind::tls;
  std::vector<Npz> parts;
  for (std::uint32_t agent = 0; agent < agents.size(); ++agent)
    parts.push_back(final_checkpoint(config, agents[agent], agent).snapshot);
  config.run.evaluate = {Schedule::Kind::end, 0};
  Experiment experiment(config);
  std::string metrics = metrics_header() + metrics_line(experiment.evaluate());
  auto whole = merge(parts, agents);
  // What has been measured stays with the experiment.
  const auto measured = experiment.snapshot();
  for (const auto* name : {"run", "x_best", "row_previous", "row_best"})
    whole[name] = measured.at(name);
  whole["counters"].values[2] = measured.at("counters").values[2];
  whole["counters"].values[3] = measured.at("counters").values[3];
  experiment.restore(whole, out.string());
  const auto last = experiment.evaluate();
  make_folder(out, config);
  write_file(out / "metrics.csv", metrics + metrics_line(last));
  write_file(out / "graph.svg",
             graph_svg(experiment.network()->graph, experiment.network()->mixing));
  experiment.with_model([&](const auto& model) { save_npz(out / "model.npz", model); });
  write_file(out / "privacy.json", privacy_json(experiment));
  write_file(out / "summary.json",
             summary_json(experiment, out.filename().string(), TrainStatus::finished, last));
  write_file(out / "config.toml", to_toml(config));
}

}  // namespace porter
