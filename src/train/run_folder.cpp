// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <array>

#include "config/difference.hpp"
#include "core/text.hpp"
#include "extension.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "report/graph_picture.hpp"
#include "report/text.hpp"
#include "train/measure.hpp"

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

// A final state up to this size is kept without being asked for.
constexpr double kMaxKeptBytes = 64.0 * (1U << 20);

// About what a checkpoint takes: no method has many more matrices than seven. Known to all
// processes of a run alike, whatever of its state each of them holds.
double state_bytes(const RunFacts& facts) {
  return 7.0 * sizeof(double) * static_cast<double>(facts.agents) * static_cast<double>(facts.dim);
}

constexpr const char* kConfigFile = "config.toml";
constexpr std::array kFiles = {kConfigFile, "metrics.csv", "summary.json", "privacy.json",
                               "graph.svg", "model.npz",   "checkpoint",   kSchemaFile};

// The file that a config names may hold something else by now.
void require_same_schema(const fs::path& path, const Config& config) {
  const auto kept = path / kSchemaFile;
  if (!config.data.schema || !fs::exists(kept)) return;
  const auto difference = differing_keys(schema_facts(load_schema(kept)), "the folder",
                                         schema_facts(*config.data.schema), "data.schema");
  require(difference.empty(), ErrorKind::usage, "cannot resume: ", path.string(),
          " was made with another schema (", difference, ")");
}

}  // namespace

RunFolder::RunFolder(fs::path path, const Trainer& trainer, ExistingRun existing)
    : path_(std::move(path)) {
  const auto config = to_toml(trainer.config());
  expect_room_in_file(trainer.facts());
  check_free(path_, existing);
  if (existing == ExistingRun::resume) {
    if (is_extension(path_, trainer.config())) {
      extended_ = load_config(path_ / kConfigFile);
      extended_->data.schema = trainer.config().data.schema;  // the same, and complete
      require_same_noise(*extended_, trainer.parts(), path_.string());
    }
    return;
  }
  for (const char* name : kFiles) fs::remove_all(path_ / name);
  make_folder(path_, trainer.config());
  write_file(path_ / kConfigFile, config);
  if (const auto& schema = trainer.config().data.schema)
    write_file(path_ / kSchemaFile, to_toml(*schema));
  if (const auto& network = trainer.parts().network)
    write_file(path_ / "graph.svg", graph_svg(network->graph, network->mixing));
  open_metrics(std::nullopt);
  ledgers_.open(path_, trainer, started(), 0);
}

void RunFolder::check_free(const fs::path& path, ExistingRun existing) {
  const bool holds_run = fs::exists(path / kConfigFile);
  require(!fs::exists(path) || fs::is_directory(path), ErrorKind::usage, "the output ",
          path.string(), " exists and is not a folder");
  require(holds_run || !fs::exists(path) || holds_nothing(path, {kMeasuredExtension}),
          ErrorKind::usage, "the output folder ", path.string(),
          " holds other files and no run; choose another");
  if (existing == ExistingRun::resume) return;
  require(!holds_run || existing == ExistingRun::replace, ErrorKind::usage, "the output folder ",
          path.string(), " holds a run already");
  require(!fs::exists(path / "ledger"), ErrorKind::privacy, path.string(),
          " holds a privacy ledger, which is never removed; choose another folder");
}

bool RunFolder::is_extension(const fs::path& path, const Config& config) {
  require(fs::exists(path / kConfigFile), ErrorKind::usage, "cannot resume: ", path.string(),
          " holds no run");
  require_same_schema(path, config);
  const auto old_text = read_file(path / kConfigFile);
  const auto difference = config_difference(old_text, to_toml(config));
  if (difference.empty()) return false;
  if (has_more_rounds(load_config(path / kConfigFile), old_text, config)) return true;
  fail(ErrorKind::usage, "cannot resume: ", path.string(), " was made with another config (",
       difference, ")");
}

void set_auto_steps(Config& config, double step, double consensus) {
  auto& algorithm = config.algorithm;
  algorithm.auto_step |= algorithm.step == 0;
  algorithm.auto_consensus |= algorithm.consensus == 0;
  if (algorithm.step == 0) algorithm.step = step;
  if (algorithm.consensus == 0) algorithm.consensus = consensus;
}

Config RunFolder::with_known_steps(const fs::path& path, Config config) {
  const auto& algorithm = config.algorithm;
  if ((algorithm.step > 0 && algorithm.consensus > 0) || !fs::exists(path / kConfigFile))
    return config;
  const auto known = load_config(path / kConfigFile);
  set_auto_steps(config, known.algorithm.step, known.algorithm.consensus);
  return config;
}

bool RunFolder::has_checkpoint() const { return fs::exists(checkpoint_file()); }

std::optional<Checkpoint> RunFolder::checkpoint_for(const Trainer& trainer) const {
  if (!has_checkpoint()) return std::nullopt;
  auto checkpoint = load_checkpoint(checkpoint_file());
  // An extension that was stopped at once has left its own.
  if (!extended_ || checkpoint.run == run_id(trainer.config())) return checkpoint;
  const auto rounds = extended_->algorithm.rounds;
  require(checkpoint.run == run_id(*extended_) && checkpoint.now.round == rounds, ErrorKind::usage,
          "cannot extend: ", path_.string(), " ended after round ", rounds,
          ", but its checkpoint is of round ", checkpoint.now.round,
          "; end it first: --resume with its own config");
  return trainer.extended(std::move(checkpoint));
}

// From here on the run is the longer one. The checkpoint comes first: with it alone the next
// attempt finds the old config and the new run.
void RunFolder::begin_extension(const Trainer& trainer, const Checkpoint& checkpoint) {
  if (!trainer.may_release())
    fail(ErrorKind::privacy, "cannot extend: the budget of ", path_.string(),
         ", epsilon = ", trainer.privacy().budget(), ", is spent: its ", trainer.releases(),
         " releases cost ", rounded_up(trainer.privacy().epsilon(trainer.releases()).value_or(0)),
         " and one more would cost more. A ledger keeps the budget that it was opened with");
  save_checkpoint(checkpoint_file(), checkpoint);
  write_file(path_ / kConfigFile, to_toml(trainer.config()));
}

void RunFolder::restore(Trainer& trainer) {
  make_folder(path_, trainer.config());
  const auto checkpoint = checkpoint_for(trainer);
  require(checkpoint || !extended_, ErrorKind::usage, "cannot extend: ", path_.string(),
          " has kept no final state to go on from; runs of more than ", kMaxKeptBytes / (1U << 20),
          " MiB keep one with run.checkpoint = \"every:N\"");
  if (checkpoint)
    trainer.restore(*checkpoint, checkpoint_file().string());
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
  if (extended_) begin_extension(trainer, *checkpoint);
  // From here on the run spends more than they say.
  for (const char* name : {"privacy.json", "summary.json"}) fs::remove(path_ / name);
  const auto& last = trainer.now().previous;
  open_metrics(last ? std::optional(last->round) : std::nullopt);
}

bool RunFolder::started() const {
  const auto metrics = path_ / "metrics.csv";
  return fs::exists(metrics) && read_file(metrics).size() > metrics_header().size();
}

// Drops what was written after this round, half a line after a kill included.
void RunFolder::open_metrics(std::optional<std::uint32_t> last_round) {
  metrics_.emplace(path_ / "metrics.csv", AppendFile::Options{});
  const auto text = metrics_->read_lines();
  std::size_t end = text.empty() ? 0 : text.find('\n') + 1;
  while (end < text.size()) {
    const auto cell = std::string_view(text).substr(end, text.find(',', end) - end);
    const auto round = parse_number<std::uint32_t>(cell);
    if (!last_round || !round || *round > *last_round) break;
    end = text.find('\n', end) + 1;
  }
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
// written: a resumed run that finds it writes the same model. Other runs keep it to be extended,
// where it is small or checkpoints are wanted anyway. All processes of a run decide alike.
bool wants_last_checkpoint(const Trainer& trainer, TrainStatus status) {
  if (status == TrainStatus::interrupted) return true;
  return status != TrainStatus::diverged &&
         (trainer.privacy().secure() || trainer.config().run.checkpoint_every > 0 ||
          state_bytes(trainer.facts()) <= kMaxKeptBytes);
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
