// SPDX-License-Identifier: Apache-2.0
#include "porter/agent/agent.hpp"

#include "agent_data.hpp"
#include "agent_folder.hpp"
#include "agent_measurements.hpp"
#include "agent_run.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "report/text.hpp"
#include "train/measure.hpp"

namespace porter {
namespace {

bool lacks_schema(const Config& config) {
  return config.data.schema && !config.data.schema->is_complete();
}

}  // namespace

void require_consent(const AgentOptions& options, const RunPrivacy& privacy,
                     std::uint64_t releases) {
  const auto bounds = privacy.interval(releases);
  require(bounds || !options.require_noise, ErrorKind::privacy, "agent.require_noise: ",
          privacy.sigma() == 0
              ? concat(options.config.algorithm.name, " adds no noise in this config")
              : concat("the noise of this config protects nobody without clipping of each sample"),
          ", so this agent's gradients would leave unprotected. Take part in a run with noise (for "
          "example porter-dp with a [privacy] section), or consent for data that need no "
          "protection: require_noise = false in this agent's own [agent]");
  const double delta = options.config.privacy ? options.config.privacy->delta : 0;
  require(
      !privacy.secure() || delta < privacy.one_record() ||
          !(options.require_noise || options.max_epsilon),
      ErrorKind::privacy, options.require_noise ? "agent.require_noise" : "agent.max_epsilon",
      ": privacy.delta of this config is ", delta, ", not below 1/m = ", privacy.one_record(),
      " of this agent: whatever epsilon is, that permits publishing a record. Take part in a run "
      "with a smaller delta, or consent for data that need no protection: require_noise = false "
      "and no max_epsilon in this agent's own [agent]");
  if (!options.max_epsilon) return;
  require(bounds && bounds->upper <= *options.max_epsilon, ErrorKind::privacy,
          "agent.max_epsilon: this agent allows ", *options.max_epsilon, ", but this run ",
          bounds ? concat("ends at a certified epsilon of ", rounded_up(bounds->upper), " after ",
                          releases, " releases")
                 : concat("has no certified epsilon"),
          "; take part in a run with more noise or fewer rounds, or raise this agent's own limit");
}

void check_agent_folder(const AgentOptions& given, const std::filesystem::path& folder) {
  auto options = given;
  if (lacks_schema(options.config)) {
    const auto schema = measured_schema(options.config, folder);
    if (!schema) return AgentFolder::check(folder, recorded_config(options));
    options.config.data.schema = schema;
  }
  AgentFolder::check(folder, recorded_config(with_steps(options, {})));
}

TrainStatus run_agent(const AgentOptions& given, const std::filesystem::path& folder,
                      const AgentHooks& hooks, Sources sources) {
  auto options = given;
  Stage stage;
  if (lacks_schema(options.config)) {
    require(!sources.data, ErrorKind::usage,
            "data.schema: it has columns that are to be measured, and data that are given are not");
    if (!measured_schema(given.config, folder)) AgentFolder::check(folder, recorded_config(given));
    const auto schema = measure_with_neighbours(given, folder, hooks, sources.graph);
    if (!schema) return TrainStatus::interrupted;
    options.config.data.schema = schema;
    stage = {.family = run_id(given.config),
             .number = 1 + static_cast<std::uint32_t>(statistics_of(*schema).size())};
  }
  options = with_steps(options, sources);
  AgentFolder files(folder, recorded_config(options), owner_of(options));
  // The journal of releases is touched before the port and the ledger would refuse a second
  // process.
  const AppendFile lock(files.lock_file(), {.in_use = "another agent is working in this folder"});
  if (files.is_finished()) {
    hooks.log("has finished before, and so have its neighbours");
    return TrainStatus::finished;
  }
  AgentStatus status;
  status.name = options.name;
  status.rounds = options.config.algorithm.rounds;
  hooks.after_round(status);
  return run_stage(options, files, hooks, std::move(sources), std::move(stage));
}

}  // namespace porter
