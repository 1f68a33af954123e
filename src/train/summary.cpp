// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace porter {

namespace {

using Json = nlohmann::ordered_json;

Json row_json(const std::optional<MetricsRow>& row) {
  if (!row) return nullptr;
  Json json = Json::object();
  for (const auto& column : metrics_columns()) json[column.name] = or_null(column.get(*row));
  json["round"] = row->round;
  return json;
}

PrivacyStatement privacy_statement(const Trainer& trainer) {
  auto statement = trainer.privacy().statement(trainer.releases());
  statement.rounds = trainer.round();
  statement.warnings = trainer.facts().notes;
  if (trainer.has_raw_metrics())
    statement.not_covered.insert(
        statement.not_covered.begin(),
        concat("metrics.csv",
               trainer.privacy().secure() ? " and summary.json" : ", summary.json and x_best",
               ", which are computed from raw data"));
  if (trainer.parts().own_model)
    statement.not_covered.push_back(
        "a model of the caller's own, if its gradient of one record depends on others or if it "
        "fails "
        "because of one");
  if (trainer.parts().own_method)
    statement.not_covered.push_back(
        "a method of the caller's own, if it reaches records in another way than through "
        "gradients");
  return statement;
}

}  // namespace

std::string summary_json(const Trainer& trainer, const std::string& name, TrainStatus status) {
  const auto& config = trainer.config();
  const auto& facts = trainer.facts();
  const auto& algorithm = config.algorithm;
  const double rounds_done = std::max(1U, trainer.round());
  const bool gossips = trainer.parts().network != nullptr;
  const auto privacy = Json::parse(privacy_json(trainer));
  Json json = {
      {"name", name},
      {"porter", kVersion},
      {"status", choice_text(status)},
      {"algorithm", algorithm.name},
      {"own_method", trainer.parts().own_method},
      {"data", facts.data_source},
      {"split", to_string(config.split)},
      {"model", trainer.parts().own_model ? "own" : config.model.name},
      {"agents", facts.agents},
      {"n", facts.agents},
      {"m", facts.samples_per_agent},
      {"d", facts.dim},
      {"k", or_null(facts.compression.kept)},
      {"rho", or_null(facts.compression.rho)},
      {"omega", or_null(facts.compression.omega)},
      {"alpha", or_null(trainer.parts().alpha())},
      {"rounds", algorithm.rounds},
      {"rounds_done", trainer.round()},
      {"batch", facts.batch},
      {"step", algorithm.step},
      {"step_auto", algorithm.auto_step},
      {"consensus", algorithm.consensus},
      {"consensus_auto", algorithm.auto_consensus},
      {"compressor", algorithm.compressor},
      {"unbiased", algorithm.unbiased},
      {"momentum", algorithm.momentum},
      {"gossip", algorithm.gossip},
      {"local_steps", algorithm.local_steps},
      {"mask", choice_text(algorithm.mask)},
      {"dense", trainer.parts().dense.size()},
      {"clip", to_string(algorithm.clip)},
      {"clip_target", choice_text(algorithm.clip_target)},
      {"graph", gossips ? config.network.graph : "none"},
      {"mixing", gossips ? Json(config.network.mixing) : Json(nullptr)},
      {"sigma", trainer.parts().sigma()},
      {"epsilon", privacy.at("epsilon")},
      {"privacy", privacy},
      {"raw_metrics", trainer.has_raw_metrics()},
      {"notes", facts.notes},
      {"majority_rate", or_null(facts.majority_rate)},
      {"last", row_json(trainer.now().previous)},
      {"best", row_json(trainer.now().best)},
      {"x_out", {{"round", facts.output_round}, {"agent", facts.output_agent}}},
      {"seconds_per_round", trainer.now().training_seconds / rounds_done},
      {"seconds_training", trainer.now().training_seconds},
      {"seconds_evaluating", trainer.now().evaluation_seconds},
      {"bytes_sent_per_agent",
       static_cast<double>(trainer.traffic().message_bytes) / static_cast<double>(facts.agents)},
      {"link_bytes_per_agent",
       static_cast<double>(trainer.traffic().link_bytes) / static_cast<double>(facts.agents)},
      {"seed", config.run.seed},
      {"threads", config.run.threads},
  };
  if (const auto loss = regression_loss(config.model)) json["model_loss"] = choice_text(*loss);
  if (trainer.parts().algorithm().shifts) json["shift"] = facts.compression.shift;
  return json_text(json, 2) + "\n";
}

std::string privacy_json(const Trainer& trainer) {
  return statement_json(privacy_statement(trainer));
}

std::optional<TrainStatus> RunFolder::recorded_status(const std::filesystem::path& path) {
  const auto file = path / "summary.json";
  if (!std::filesystem::exists(file)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  const auto status = json.is_object() ? json.find("status") : json.end();
  if (status == json.end() || !status->is_string()) return std::nullopt;
  return find_choice<TrainStatus>(status->get<std::string>());
}

}  // namespace porter
