// SPDX-License-Identifier: Apache-2.0
// From the folders of all agents of a run to the folder that a simulation of it would have.

#include "agent_folder.hpp"
#include "config/difference.hpp"
#include "io/file.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"
#include "report/graph_picture.hpp"
#include "train/measure.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

Checkpoint final_checkpoint(const Config& config, const fs::path& folder, std::uint32_t agent) {
  require(fs::exists(folder / "config.toml"), ErrorKind::io, folder.string(),
          ": expected the folder of an agent, found no config.toml in it");
  auto checkpoint = AgentFolder(folder, config, {run_id(config), agent}).load_newest();
  require(checkpoint && checkpoint->round() == config.algorithm.rounds, ErrorKind::io,
          folder.string(), ": this agent has not finished");
  return std::move(checkpoint->run);
}

// Of all agents, with what has been measured so far.
Checkpoint merge_agents(const Config& config, const std::vector<fs::path>& agents,
                        const RunState& measured) {
  std::vector<Checkpoint> parts;
  std::vector<std::string> names;
  for (std::uint32_t agent = 0; agent < agents.size(); ++agent) {
    parts.push_back(final_checkpoint(config, agents[agent], agent));
    names.push_back(agents[agent].string());
  }
  auto whole = merge_checkpoints(parts, names);
  whole.now.previous = measured.previous;
  whole.now.best = measured.best;
  whole.now.x_best = measured.x_best;
  whole.now.utility_sum = measured.utility_sum;
  whole.now.evaluation_seconds = measured.evaluation_seconds;
  return whole;
}

// Whether the schema is complete now.
bool use_measured_schema(Config& config, const fs::path& agent) {
  if (!config.data.schema || config.data.schema->is_complete()) return true;
  const auto schema = measured_schema(config, agent);
  if (schema) config.data.schema = schema;
  return schema != nullptr;
}

}  // namespace

// The results are written before the last checkpoint.
bool has_finished(const Config& config, const fs::path& folder, std::uint32_t agent) {
  if (!fs::exists(folder / "model.npz") || !fs::exists(folder / "privacy.json")) return false;
  auto networked = config;
  networked.run.engine = EngineKind::tls;
  try {
    if (!use_measured_schema(networked, folder)) return false;
    final_checkpoint(networked, folder, agent);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void collect_agents(Config config, const std::vector<fs::path>& agents, const fs::path& out) {
  config.run.engine = EngineKind::tls;
  require(use_measured_schema(config, agents.at(0)), ErrorKind::io, agents.at(0).string(),
          ": expected the schema of the run, found no ", kSchemaFile, " in it");
  Trainer trainer(assemble(config));
  config = trainer.config();  // steps as numbers
  const auto first = trainer.evaluate();
  trainer.restore(merge_agents(config, agents, trainer.now()), out.string());
  const auto last = trainer.evaluate();
  const auto& network = *trainer.parts().network;
  make_folder(out, config);
  write_file(out / "metrics.csv", metrics_header() + metrics_line(first) + metrics_line(last));
  write_file(out / "graph.svg", graph_svg(network.graph, network.mixing));
  trainer.with_model([&](const auto& model) { save_npz(out / "model.npz", model); });
  write_file(out / "privacy.json", privacy_json(trainer));
  write_file(out / "summary.json",
             summary_json(trainer, out.filename().string(), TrainStatus::finished));
  if (const auto& schema = config.data.schema) write_file(out / kSchemaFile, to_toml(*schema));
  write_file(out / "config.toml", to_toml(config));
}

}  // namespace porter
