// SPDX-License-Identifier: Apache-2.0
#include "agent_measurements.hpp"

#include "agent_data.hpp"
#include "agent_folder.hpp"
#include "agent_run.hpp"
#include "config/config_keys.hpp"
#include "config/difference.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "train/measure.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

class AgentMeasurements {
 public:
  AgentMeasurements(const AgentOptions& options, const std::filesystem::path& folder,
                    const AgentHooks& hooks, const std::optional<Graph>& graph)
      : options_(options), folder_(folder), hooks_(hooks), graph_(graph) {
    check_own_data(options_);
    hooks_.after_round = [before = hooks.after_round](AgentStatus status) {
      if (status.state == "training" || status.state == "finished") status.state = "measuring";
      before(status);
    };
  }

  std::shared_ptr<const Schema> run() {
    auto schema = options_.config.data.schema;
    make_folder(folder_, options_.config);
    for (const auto statistic : statistics_of(*schema)) {
      const Measurement measurement(options_.config, schema, statistic, graph_);
      ++stage_;
      hooks_.log(concat("the ", to_string(statistic), " that the schema leaves to be measured:"));
      if (!measure(measurement)) return nullptr;
      schema = completed(measurement);
    }
    const auto known = measured_schema(options_.config, folder_);
    require(!known || schema_facts(*known) == schema_facts(*schema), ErrorKind::privacy,
            (folder_ / kSchemaFile).string(), " is not what this agent has measured");
    if (!known) write_file(folder_ / kSchemaFile, to_toml(*schema));
    hooks_.log(
        concat("measured with its neighbours what the schema leaves open; it is in ", kSchemaFile));
    return schema;
  }

 private:
  AgentOptions options_of(const Config& config) const {
    auto options = options_;
    options.config = config;
    return options;
  }

  bool measure(const Measurement& measurement) {
    const auto options = options_of(measurement.config());
    AgentFolder files(measurement.folder(folder_), recorded_config(options), owner_of(options));
    const AppendFile lock(files.lock_file(), {.in_use = "another agent is working in this folder"});
    if (files.is_finished()) return true;
    auto rows = own_data(options_of(measurement.reading()));
    require_consent_to_all(rows.train->rows());
    const auto status = run_stage(options, files, hooks_, measurement.sources(std::move(rows)),
                                  {.family = run_id(options_.config),
                                   .number = stage_,
                                   .measures = true,
                                   .facts = identity(options_.config)});
    return status == TrainStatus::finished;
  }

  // What is measured leaves before the training begins, so the whole is consented to before.
  void require_consent_to_all(std::size_t records) const {
    const auto& config = options_.config;
    const auto batch = config.algorithm.batch == 0 ? records : config.algorithm.batch;
    const bool poisson = config.privacy && config.privacy->sampler == Sampler::poisson;
    const RunPrivacy privacy(
        config, BatchSampler(poisson ? Sampler::poisson : Sampler::fixed, records, batch), 1);
    require_consent(options_, privacy, config.algorithm.rounds);
    require(privacy.most_releases() >= config.algorithm.rounds, ErrorKind::privacy,
            "the privacy budget allows ", privacy.most_releases(), " of the ",
            config.algorithm.rounds, " rounds, with what is measured before them; take fewer ",
            "rounds, more noise or a larger epsilon");
  }

  std::shared_ptr<const Schema> completed(const Measurement& measurement) const {
    const auto folder = measurement.folder(folder_);
    const auto statement = load_statement(folder / "privacy.json");
    require(statement && statement->releases <= 1, ErrorKind::privacy, folder.string(),
            ": expected the statement of one release, found ", statement ? statement->releases : 0);
    const auto model = load_npz(folder / "model.npz");
    return measurement.completed(member(model, "x_mean", folder.string()).values, statement->sigma,
                                 statement->records);
  }

  const AgentOptions& options_;
  const std::filesystem::path& folder_;
  AgentHooks hooks_;
  const std::optional<Graph>& graph_;
  std::uint32_t stage_ = 0;
};

}  // namespace

std::shared_ptr<const Schema> measure_with_neighbours(const AgentOptions& options,
                                                      const std::filesystem::path& folder,
                                                      const AgentHooks& hooks,
                                                      const std::optional<Graph>& graph) {
  return AgentMeasurements(options, folder, hooks, graph).run();
}

}  // namespace porter
