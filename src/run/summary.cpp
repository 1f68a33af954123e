// SPDX-License-Identifier: Apache-2.0
#include "summary.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json_text.hpp"
#include "porter/core/error.hpp"
#include "porter/io/file.hpp"
#include "porter/run/run_folder.hpp"
#include "porter/version.hpp"

namespace porter {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json row_json(const std::optional<MetricsRow>& row) {
  if (!row) return nullptr;
  Json json = Json::object();
  for (const auto& column : metrics_columns()) json[column.name] = or_null(column.get(*row));
  json["round"] = row->round;
  return json;
}

// [lower, upper] of what the releases so far have cost; as if secret where the noise is simulated.
Json interval_json(const Experiment& experiment) {
  const auto bounds = experiment.privacy().interval(experiment.releases());
  return bounds ? Json({bounds->lower, bounds->upper}) : Json(nullptr);
}

const char* status_name(TrainStatus status) {
  switch (status) {
    case TrainStatus::finished:
      return "finished";
    case TrainStatus::interrupted:
      return "interrupted";
    case TrainStatus::budget_spent:
      return "budget spent";
    default:
      return "diverged";
  }
}

}  // namespace

std::string summary_json(const Experiment& experiment, const std::string& name, TrainStatus status,
                         const std::optional<MetricsRow>& last) {
  const auto& config = experiment.config();
  const auto& facts = experiment.facts();
  const auto& algorithm = config.algorithm;
  const double rounds_done = std::max(1U, experiment.round());
  const bool gossips = experiment.network() != nullptr;
  Json json = {
      {"name", name},
      {"porter", kVersion},
      {"status", status_name(status)},
      {"algorithm", algorithm.name},
      {"data", facts.data_source},
      {"split", to_string(config.split)},
      {"model", config.model.name},
      {"agents", facts.agents},
      {"n", facts.agents},
      {"m", facts.samples_per_agent},
      {"d", facts.dim},
      {"k", or_null(facts.kept)},
      {"rho", or_null(facts.rho)},
      {"omega", or_null(facts.omega)},
      {"alpha", or_null(facts.alpha)},
      {"rounds", algorithm.rounds},
      {"rounds_done", experiment.round()},
      {"batch", facts.batch},
      {"step", algorithm.step},
      {"consensus", algorithm.consensus},
      {"compressor", algorithm.compressor},
      {"unbiased", algorithm.unbiased},
      {"momentum", algorithm.momentum},
      {"gossip", algorithm.gossip},
      {"mask", choice_text(algorithm.mask)},
      {"clip", to_string(algorithm.clip)},
      {"clip_target", choice_text(algorithm.clip_target)},
      {"graph", gossips ? config.network.graph : "none"},
      {"mixing", gossips ? Json(config.network.mixing) : Json(nullptr)},
      {"sigma", facts.sigma},
      {"epsilon", interval_json(experiment)},
      {"privacy", experiment.privacy().sentence(experiment.releases())},
      {"raw_metrics", experiment.has_raw_metrics()},
      {"notes", facts.notes},
      {"majority_rate", or_null(facts.majority_rate)},
      {"last", row_json(last)},
      {"best", row_json(experiment.best())},
      {"x_out", {{"round", facts.output_round}, {"agent", facts.output_agent}}},
      {"seconds_per_round", experiment.training_seconds() / rounds_done},
      {"seconds_training", experiment.training_seconds()},
      {"seconds_evaluating", experiment.evaluation_seconds()},
      {"bytes_sent_per_agent",
       static_cast<double>(experiment.traffic().message_bytes) / static_cast<double>(facts.agents)},
      {"link_bytes_per_agent",
       static_cast<double>(experiment.traffic().link_bytes) / static_cast<double>(facts.agents)},
      {"seed", config.run.seed},
      {"threads", config.run.threads},
  };
  if (find_algorithm(algorithm.name).shifts) json["shift"] = facts.shift;
  return json_text(json, 2) + "\n";
}

std::string privacy_json(const Experiment& experiment) {
  const auto& facts = experiment.facts();
  const auto& config = experiment.config();
  const auto& privacy = experiment.privacy();
  const auto releases = experiment.releases();
  const bool secret = privacy.secure().has_value();
  const auto bounds = privacy.interval(releases);
  Json json = {{"statement", privacy.sentence(releases)},
               {"guarantee", nullptr},
               {"noise", facts.sigma == 0 ? "none"
                         : secret         ? "secure"
                                          : "simulated"},
               {"level", "record"},
               {"against", "everybody else together, for everything that leaves the agent"},
               {"sigma", facts.sigma},
               {"clip", to_string(config.algorithm.clip)},
               {"clip_target", choice_text(config.algorithm.clip_target)},
               {"batch", facts.batch},
               {"m", facts.samples_per_agent},
               {"rounds", experiment.round()},
               {"releases", releases}};
  if (config.privacy) {
    json["delta"] = config.privacy->delta;
    json["sampler"] = choice_text(facts.batch == facts.samples_per_agent ? Sampler::full
                                                                         : config.privacy->sampler);
    json["relation"] = privacy.relation();
    json["calibration"] = choice_text(config.privacy->calibration);
    json["target_epsilon"] = config.privacy->epsilon;
  }
  json["epsilon"] = interval_json(experiment);
  json["accountant"] = bounds ? Json(bounds->method) : Json(nullptr);
  if (secret && bounds)
    json["guarantee"] = {{"epsilon", bounds->upper}, {"delta", config.privacy->delta}};
  auto not_covered = privacy.not_covered();
  if (experiment.has_raw_metrics())
    not_covered.insert(
        not_covered.begin(),
        concat("metrics.csv", secret ? " and summary.json" : ", summary.json and x_best",
               ", which are computed from raw data"));
  json["not_covered"] = not_covered;
  json["warnings"] = facts.notes;
  return json_text(json, 2) + "\n";
}

std::string RunFolder::recorded_status(const std::filesystem::path& path) {
  const auto file = path / "summary.json";
  if (!std::filesystem::exists(file)) return {};
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  const auto status = json.is_object() ? json.find("status") : json.end();
  return status != json.end() && status->is_string() ? status->get<std::string>() : "";
}

}  // namespace porter
