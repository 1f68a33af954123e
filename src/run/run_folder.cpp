// SPDX-License-Identifier: Apache-2.0
#include "porter/run/run_folder.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "difference.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/picture.hpp"
#include "porter/io/file.hpp"
#include "summary.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.toml";
constexpr std::array kFiles = {kConfigFile, "metrics.csv", "summary.json", "privacy.json",
                               "graph.svg", "model.npz",   "checkpoint"};

}  // namespace

RunFolder::RunFolder(fs::path path, const Experiment& experiment, ExistingRun existing)
    : path_(std::move(path)) {
  const auto config = to_toml(experiment.config());
  const bool holds_run = fs::exists(path_ / kConfigFile);
  require(!fs::exists(path_) || fs::is_directory(path_), ErrorKind::usage, "the output ",
          path_.string(), " exists and is not a folder");
  require(holds_run || !fs::exists(path_) || holds_nothing(path_), ErrorKind::usage,
          "the output folder ", path_.string(), " holds other files and no run; choose another");
  if (existing == ExistingRun::resume) {
    require_same_config(path_, experiment.config());
    return;
  }
  require(!holds_run || existing == ExistingRun::replace, ErrorKind::usage, "the output folder ",
          path_.string(),
          " holds a run already; use --resume to continue it, --force to replace it, ",
          "or another --out");
  require(!fs::exists(path_ / "ledger"), ErrorKind::privacy, path_.string(),
          " holds a privacy ledger, which is never removed; choose another --out");
  for (const char* name : kFiles) fs::remove_all(path_ / name);
  make_folder(path_, experiment.config());
  write_file(path_ / kConfigFile, config);
  if (const auto* network = experiment.network())
    write_file(path_ / "graph.svg", graph_svg(network->graph, network->mixing));
  write_file(path_ / "metrics.csv", metrics_header());
  open_metrics();
  ledgers_.open(path_, experiment, started(), 0);
}

void RunFolder::require_same_config(const fs::path& path, const Config& config) {
  require(fs::exists(path / kConfigFile), ErrorKind::usage, "cannot resume: ", path.string(),
          " holds no run");
  const auto difference = config_difference(read_file(path / kConfigFile), to_toml(config));
  require(difference.empty(), ErrorKind::usage, "cannot resume: ", path.string(),
          " was made with another config (", difference, ")");
}

bool RunFolder::has_checkpoint() const { return fs::exists(checkpoint_file()); }

void RunFolder::restore(Experiment& experiment) {
  make_folder(path_, experiment.config());
  if (has_checkpoint())
    experiment.restore(load_npz(checkpoint_file()), checkpoint_file().string());
  else
    require(!started(), ErrorKind::usage, "cannot resume: ", path_.string(),
            " has begun and holds no checkpoint to go on from (run.checkpoint = \"every:N\" makes "
            "them); ",
            fs::exists(path_ / "ledger") ? "what its ledgers count stays spent. Take another --out"
                                         : "to start it anew use --force");
  // A checkpoint is written when all ledgers count the same, so none may hold fewer.
  ledgers_.open(path_, experiment, started(), experiment.releases());
  experiment.raise_releases(ledgers_.charges());
  ledgers_.catch_up(experiment);
  keep_metrics(experiment.evaluations_done());
  open_metrics();
}

bool RunFolder::started() const {
  const auto metrics = path_ / "metrics.csv";
  return fs::exists(metrics) && read_file(metrics).size() > metrics_header().size();
}

void RunFolder::charge(const Experiment& experiment, std::uint32_t round) {
  ledgers_.charge(experiment, round);
}

void RunFolder::catch_up(const Experiment& experiment) { ledgers_.catch_up(experiment); }

void RunFolder::open_metrics() { metrics_ = open_to_append(path_ / "metrics.csv"); }

// Drops what was written after the checkpoint, half a line after a kill included.
void RunFolder::keep_metrics(std::size_t rows) {
  const auto file = path_ / "metrics.csv";
  std::istringstream old(fs::exists(file) ? read_file(file) : std::string());
  std::string kept = metrics_header(), line;
  std::getline(old, line);
  for (std::size_t row = 0; row < rows && std::getline(old, line); ++row) kept += line + '\n';
  write_file(file, kept);
}

void RunFolder::append(const MetricsRow& row) {
  const auto line = metrics_line(row);
  last_ = row;
  const bool written = std::fwrite(line.data(), 1, line.size(), metrics_.get()) == line.size() &&
                       std::fflush(metrics_.get()) == 0;
  require(written, ErrorKind::io, "cannot write ", (path_ / "metrics.csv").string(), ": ",
          std::strerror(errno));
}

void RunFolder::write_checkpoint(Experiment& experiment) {
  make_folder(checkpoint_file().parent_path(), experiment.config());
  save_npz(checkpoint_file(), experiment.snapshot());
}

void RunFolder::finish(const Experiment& experiment, TrainStatus status) {
  if (status == TrainStatus::finished || status == TrainStatus::budget_spent)
    experiment.with_model([&](const auto& model) { save_npz(path_ / "model.npz", model); });
  if (status != TrainStatus::diverged) write_file(path_ / "privacy.json", privacy_json(experiment));
  write_file(path_ / "summary.json",
             summary_json(experiment, path_.filename().string(), status, last_));
}

// What secret noise was spent on cannot be computed again, so the end is kept before the model is
// written: a resumed run that finds it writes the same model.
bool wants_checkpoint(const Experiment& experiment, TrainStatus status) {
  return status == TrainStatus::interrupted ||
         (status != TrainStatus::diverged && experiment.privacy().secure());
}

bool wants_first_checkpoint(const Experiment& experiment) {
  return experiment.round() == 0 && experiment.config().run.checkpoint_every > 0;
}

TrainStatus train_in_folder(Experiment& experiment, RunFolder& folder, TrainHooks hooks) {
  const auto period = experiment.config().run.checkpoint_every;
  TrainHooks inner = hooks;
  inner.before_round = [&](std::uint32_t round) {
    folder.charge(experiment, round);
    hooks.before_round(round);
  };
  inner.after_evaluation = [&](const MetricsRow& row) {
    folder.append(row);
    hooks.after_evaluation(row);
  };
  inner.after_round = [&](const Experiment& now) {
    if (period > 0 && now.round() % period == 0 && !now.finished())
      folder.write_checkpoint(experiment);
    hooks.after_round(now);
  };
  if (wants_first_checkpoint(experiment)) folder.write_checkpoint(experiment);
  const auto status = train(experiment, inner);
  if (wants_checkpoint(experiment, status)) folder.write_checkpoint(experiment);
  folder.finish(experiment, status);
  return status;
}

}  // namespace porter
