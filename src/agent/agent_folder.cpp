// SPDX-License-Identifier: Apache-2.0
#include "agent_folder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/difference.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/npz_file.hpp"
#include "porter/core/error.hpp"
#include "report/graph_picture.hpp"
#include "train/measure.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.toml";

// The first and the last round, without what only the raw data or all agents could tell.
std::string public_metrics(const Trainer& trainer) {
  const auto traffic = trainer.traffic();
  const auto epsilon = trainer.privacy().epsilon(trainer.releases());
  return concat("round,bits_per_agent,link_bits_per_agent,epsilon,seconds\n0,0,0,",
                epsilon ? "0" : "", ",0\n", trainer.round(), ',', 8 * traffic.message_bytes, ',',
                8 * traffic.link_bytes, ',', epsilon ? shortest(*epsilon) : "", ',',
                shortest(trainer.now().training_seconds), '\n');
}

// The summary counts the bytes of all agents; here is only one.
std::string public_summary(const Trainer& trainer, const std::string& name) {
  auto json = nlohmann::ordered_json::parse(summary_json(trainer, name, TrainStatus::finished));
  const auto traffic = trainer.traffic();
  json["bytes_sent_per_agent"] = traffic.message_bytes;
  json["link_bytes_per_agent"] = traffic.link_bytes;
  json["majority_rate"] = nullptr;
  return json_text(json, 2) + "\n";
}

}  // namespace

AgentFolder::AgentFolder(fs::path path, const Config& config, FileOwner owner)
    : path_(std::move(path)), owner_(std::move(owner)) {
  check(path_, config);
  make_folder(path_, config);
  if (!fs::exists(path_ / kConfigFile)) write_file(path_ / kConfigFile, to_toml(config));
  make_folder(path_ / "checkpoint", config);
}

void AgentFolder::check(const fs::path& path, const Config& config) {
  if (fs::exists(path / kConfigFile)) {
    const auto difference = config_difference(read_file(path / kConfigFile), to_toml(config));
    require(difference.empty(), ErrorKind::usage, path.string(), " holds a run of another config (",
            difference, "); choose another folder");
  } else {
    // What is measured comes first, and its status is told here.
    const bool measures = fs::exists(path) &&
                          std::ranges::any_of(fs::directory_iterator(path), [](const auto& entry) {
                            return entry.path().extension() == kMeasuredExtension;
                          });
    const auto status = measures ? std::string_view(".json") : std::string_view(".log");
    require(!fs::exists(path) || holds_nothing(path, {".toml", ".log", status, kMeasuredExtension}),
            ErrorKind::usage, path.string(),
            " holds other files and no run; choose another folder");
  }
}

std::optional<AgentCheckpoint> AgentFolder::load_newest() {
  const bool newest = fs::exists(checkpoint_file()), previous = fs::exists(previous_file());
  if (!newest && !previous) return std::nullopt;
  std::string damage = checkpoint_file().string() + " is missing";
  if (newest) try {
      auto checkpoint = load(checkpoint_file());
      keeps_newest_ = true;
      newest_round_ = checkpoint.round();
      return checkpoint;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io || !previous) throw;
      damage = error.what();
    }
  auto checkpoint = load(previous_file());
  newest_round_ = checkpoint.round();
  checkpoint.damage = damage;
  return checkpoint;
}

AgentCheckpoint AgentFolder::load(const fs::path& file) const {
  const auto source = file.string();
  const auto members = load_npz(file, ByteArrays::bytes);
  AgentCheckpoint checkpoint{.run = to_checkpoint(members, source)};
  const auto& agent = member(members, "agent", source).values;
  require(agent.size() == 1 && agent[0] >= 0 && agent[0] < 4294967296.0, ErrorKind::io, source,
          ": the number of its agent is damaged");
  require_owner({checkpoint.run.run, static_cast<std::uint32_t>(agent[0])}, owner_, source);
  checkpoint.sent = SentLog(member(members, "sent", source).bytes, source);
  return checkpoint;
}

// There is a checkpoint at every moment. One that is damaged does not replace a good one. The one
// before the last is needed no more, and its file holds the new one.
void AgentFolder::save(Checkpoint run, const SentLog& sent) {
  const auto round = run.now.round;
  auto members = to_npz(std::move(run));
  members["agent"] = {{1}, {static_cast<double>(owner_.agent)}};
  auto parts = parts_of(members);
  parts["sent"] = {.shape = {sent.packed().size()}, .parts = {}, .bytes = sent.packed()};
  if (std::exchange(keeps_newest_, true)) {
    std::error_code ignored;
    fs::rename(previous_file(), spare_file(), ignored);
    fs::create_hard_link(checkpoint_file(), previous_file(), ignored);
    if (ignored) fs::rename(checkpoint_file(), previous_file());  // a file system without links
  }
  oldest_round_ = std::exchange(newest_round_, round);
  FileWriter file(checkpoint_file(), spare_file());
  write_npz(file, parts);
  file.finish();
}

void AgentFolder::write_results(Trainer& trainer, const std::string& name) const {
  const auto x = trainer.algorithm().iterates().row(trainer.hosted()[0]);
  const std::vector<double> values(x.begin(), x.end());
  NpzParts model = {{"x_mean", {{x.size()}, {values}}}, {"X", {{1, x.size()}, {values}}}};
  if (trainer.config().run.ema)
    model["x_ema"] = {{x.size()}, {trainer.averages().row(trainer.hosted()[0])}};
  std::string about;
  trainer.add_card(model, about);
  save_npz(path_ / "model.npz", model);
  write_file(path_ / "privacy.json", privacy_json(trainer));
  const auto& network = *trainer.parts().network;
  write_file(path_ / "graph.svg", graph_svg(network.graph, network.mixing));
  write_file(path_ / "metrics.csv", public_metrics(trainer));
  write_file(path_ / "summary.json", public_summary(trainer, name));
}

void AgentFolder::mark_finished() const { write_file(finished_file(), ""); }
bool AgentFolder::is_finished() const { return fs::exists(finished_file()); }

}  // namespace porter
