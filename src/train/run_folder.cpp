// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <array>

#include "config/difference.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "report/graph_picture.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// model.npz holds X and three vectors, and its headers.
void expect_room_in_file(const RunFacts& facts) {
  const double bytes = 8.0 * static_cast<double>(facts.agents + 3) * static_cast<double>(facts.dim);
  require(bytes < 0x1p32 - 0x1p21, ErrorKind::usage, facts.agents,
          " agents (network.agents) with a model of ", facts.dim, " parameters (model) are ",
          bytes / 0x1p30, " GiB, and model.npz holds at most 4 GiB");
}

constexpr const char* kConfigFile = "config.toml";
constexpr std::array kFiles = {kConfigFile, "metrics.csv", "summary.json", "privacy.json",
                               "graph.svg", "model.npz",   "checkpoint"};

}  // namespace

RunFolder::RunFolder(fs::path path, const Trainer& trainer, ExistingRun existing)
    : path_(std::move(path)) {
  const auto config = to_toml(trainer.config());
  const bool holds_run = fs::exists(path_ / kConfigFile);
  expect_room_in_file(trainer.facts());
  require(!fs::exists(path_) || fs::is_directory(path_), ErrorKind::usage, "the output ",
          path_.string(), " exists and is not a folder");
  require(holds_run || !fs::exists(path_) || holds_nothing(path_), ErrorKind::usage,
          "the output folder ", path_.string(), " holds other files and no run; choose another");
  if (existing == ExistingRun::resume) {
    require_same_config(path_, trainer.config());
    return;
  }
  require(!holds_run || existing == ExistingRun::replace, ErrorKind::usage, "the output folder ",
          path_.string(), " holds a run already");
  require(!fs::exists(path_ / "ledger"), ErrorKind::privacy, path_.string(),
          " holds a privacy ledger, which is never removed; choose another folder");
  for (const char* name : kFiles) fs::remove_all(path_ / name);
  make_folder(path_, trainer.config());
  write_file(path_ / kConfigFile, config);
  if (const auto& network = trainer.parts().network)
    write_file(path_ / "graph.svg", graph_svg(network->graph, network->mixing));
  open_metrics(0);
  ledgers_.open(path_, trainer, started(), 0);
}

void RunFolder::require_same_config(const fs::path& path, const Config& config) {
  require(fs::exists(path / kConfigFile), ErrorKind::usage, "cannot resume: ", path.string(),
          " holds no run");
  const auto difference = config_difference(read_file(path / kConfigFile), to_toml(config));
  require(difference.empty(), ErrorKind::usage, "cannot resume: ", path.string(),
          " was made with another config (", difference, ")");
}

bool RunFolder::has_checkpoint() const { return fs::exists(checkpoint_file()); }

void RunFolder::restore(Trainer& trainer) {
  make_folder(path_, trainer.config());
  if (has_checkpoint())
    trainer.restore(load_checkpoint(checkpoint_file()), checkpoint_file().string());
  else
    require(!started(), ErrorKind::usage, "cannot resume: ", path_.string(),
            " has begun and holds no checkpoint to go on from (run.checkpoint = \"every:N\" makes "
            "them); ",
            fs::exists(path_ / "ledger") ? "what its ledgers count stays spent. Take another folder"
                                         : "it can only be replaced");
  // A checkpoint is written when all ledgers count the same, so none may hold fewer.
  ledgers_.open(path_, trainer, started(), trainer.releases());
  trainer.raise_releases(ledgers_.charges());
  ledgers_.catch_up(trainer);
  // From here on the run spends more than they say.
  for (const char* name : {"privacy.json", "summary.json"}) fs::remove(path_ / name);
  open_metrics(trainer.evaluations_done());
}

bool RunFolder::started() const {
  const auto metrics = path_ / "metrics.csv";
  return fs::exists(metrics) && read_file(metrics).size() > metrics_header().size();
}

// Drops what was written after these rows, half a line after a kill included.
void RunFolder::open_metrics(std::size_t rows) {
  metrics_.emplace(path_ / "metrics.csv", AppendFile::Options{});
  const auto text = metrics_->read_lines();
  std::size_t end = 0;
  for (std::size_t line = 0; line <= rows && end < text.size(); ++line)
    end = text.find('\n', end) + 1;
  metrics_->truncate(end);
  if (end == 0) metrics_->append(metrics_header());
}

void RunFolder::append(const MetricsRow& row) { metrics_->append(metrics_line(row)); }

void RunFolder::write_checkpoint(Trainer& trainer) {
  make_folder(checkpoint_file().parent_path(), trainer.config());
  save_checkpoint(checkpoint_file(), trainer.checkpoint());
}

void RunFolder::finish(const Trainer& trainer, TrainStatus status) {
  if (status == TrainStatus::finished || status == TrainStatus::budget_spent)
    trainer.with_model([&](const auto& model) { save_npz(path_ / "model.npz", model); });
  if (status != TrainStatus::diverged) write_file(path_ / "privacy.json", privacy_json(trainer));
  write_file(path_ / "summary.json", summary_json(trainer, path_.filename().string(), status));
}

namespace {

// What secret noise was spent on cannot be computed again, so the end is kept before the model is
// written: a resumed run that finds it writes the same model.
bool wants_last_checkpoint(const Trainer& trainer, TrainStatus status) {
  return status == TrainStatus::interrupted ||
         (status != TrainStatus::diverged && trainer.privacy().secure());
}

}  // namespace

TrainStatus train_with_files(Trainer& trainer, RunFolder* folder, Ledgers& ledgers,
                             std::vector<Observer> observers) {
  const auto period = trainer.config().run.checkpoint_every;
  const auto write_checkpoint = [&] {
    if (folder)
      folder->write_checkpoint(trainer);
    else
      trainer.checkpoint();  // gives its rows to the process that has the folder
  };
  Observer files;
  files.before_round = [&](std::uint32_t round) { ledgers.charge(trainer, round); };
  if (folder) files.after_evaluation = [&](const MetricsRow& row) { folder->append(row); };
  files.after_round = [&] {
    if (period > 0 && trainer.round() % period == 0 && !trainer.finished()) write_checkpoint();
  };
  observers.insert(observers.begin(), std::move(files));
  // One that is killed early can then be resumed.
  if (trainer.round() == 0 && period > 0) write_checkpoint();
  const auto status = train(trainer, observers);
  if (wants_last_checkpoint(trainer, status)) write_checkpoint();
  if (folder) folder->finish(trainer, status);
  return status;
}

TrainStatus train_in_folder(Trainer& trainer, RunFolder& folder, std::vector<Observer> observers) {
  return train_with_files(trainer, &folder, folder.ledgers(), std::move(observers));
}

TrainStatus train_in(const fs::path& path, Trainer& trainer, std::vector<Observer> observers) {
  const bool begun = fs::exists(path / kConfigFile);
  RunFolder folder(path, trainer, begun ? ExistingRun::resume : ExistingRun::refuse);
  if (begun) folder.restore(trainer);
  return train_in_folder(trainer, folder, std::move(observers));
}

}  // namespace porter
