// SPDX-License-Identifier: Apache-2.0
#include "porter/run/run_folder.hpp"

#include <cerrno>
#include <cstring>
#include <sstream>

#include "difference.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/picture.hpp"
#include "porter/io/file.hpp"
#include "porter/privacy/clip.hpp"
#include "summary.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.toml";

// The same for every way to carry out the same run.
std::string run_id(Config config) {
  config.run.threads = 0;
  config.run.checkpoint_every = 0;
  return sha256_hex(to_toml(config)).substr(0, 32);
}

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
    require(holds_run, ErrorKind::usage, "cannot resume: ", path_.string(), " holds no run");
    const auto difference = first_difference(read_file(path_ / kConfigFile), config);
    require(difference.empty(), ErrorKind::usage, "cannot resume: ", path_.string(),
            " was made with another config (", difference, ")");
    return;
  }
  require(!holds_run || existing == ExistingRun::replace, ErrorKind::usage, "the output folder ",
          path_.string(),
          " holds a run already; use --resume to continue it, --force to replace it, ",
          "or another --out");
  require(!fs::exists(path_ / "ledger"), ErrorKind::privacy, path_.string(),
          " holds a privacy ledger, which is never removed; choose another --out");
  if (holds_run) fs::remove_all(path_);
  make_folder(path_);
  write_file(path_ / kConfigFile, config);
  if (find_algorithm(experiment.config().algorithm.name).gossips())
    write_file(path_ / "graph.svg",
               graph_svg(experiment.network().graph, experiment.network().mixing));
  write_file(path_ / "metrics.csv", metrics_header());
  open_metrics();
  open_ledgers(experiment, 0);
}

bool RunFolder::has_checkpoint() const { return fs::exists(checkpoint_file()); }

void RunFolder::restore(Experiment& experiment) {
  if (has_checkpoint()) experiment.restore(load_npz(checkpoint_file()), checkpoint_file().string());
  // A checkpoint is written when all ledgers count the same, so none may hold fewer.
  open_ledgers(experiment, experiment.releases());
  for (const auto& ledger : ledgers_) experiment.raise_releases(ledger.view().charges);
  keep_metrics(experiment.evaluations_done());
  open_metrics();
}

// The ledgers stand beside the checkpoint, not in it: restoring an older one never lowers epsilon.
// A run without a row of metrics has released nothing, so its ledgers may be new; later a missing
// one is refused.
void RunFolder::open_ledgers(const Experiment& experiment, std::uint64_t at_least) {
  if (!experiment.privacy().secure()) return;
  const auto metrics = path_ / "metrics.csv";
  const bool started = fs::exists(metrics) && read_file(metrics).size() > metrics_header().size();
  const auto& config = experiment.config();
  make_folder(path_ / "ledger");
  for (std::uint32_t agent = 0; agent < experiment.facts().agents; ++agent) {
    const auto file = path_ / "ledger" / ("agent-" + std::to_string(agent) + ".ledger");
    const LedgerHeader header{.run_id = run_id(config),
                              .agent = agent,
                              .sampler = config.privacy->sampler,
                              .adjacency = config.privacy->adjacency,
                              .records = experiment.facts().samples_per_agent,
                              .batch = experiment.facts().batch,
                              .noise_stddev = experiment.facts().sigma,
                              .clip = parse_clip(config.algorithm.clip).tau,
                              .delta = config.privacy->delta,
                              .epsilon = config.privacy->epsilon};
    ledgers_.push_back(started || fs::exists(file) ? Ledger::resume(file, header, at_least)
                                                   : Ledger::create(file, header));
  }
}

void RunFolder::charge(const Experiment& experiment, std::uint32_t round) {
  // A crash between two ledgers leaves one behind: it catches up, so that all count the same.
  const auto target = experiment.releases() + 1;
  for (auto& ledger : ledgers_)
    while (ledger.view().charges < target) ledger.charge(round);
}

void RunFolder::open_metrics() {
  const auto file = path_ / "metrics.csv";
  metrics_.reset(std::fopen(file.c_str(), "ae"));
  require(metrics_ != nullptr, ErrorKind::io, "cannot open ", file.string(), ": ",
          std::strerror(errno));
}

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
  make_folder(checkpoint_file().parent_path());
  save_npz(checkpoint_file(), experiment.snapshot());
}

void RunFolder::finish(const Experiment& experiment, TrainStatus status) {
  if (status == TrainStatus::finished || status == TrainStatus::budget_spent)
    experiment.with_model([&](const auto& model) { save_npz(path_ / "model.npz", model); });
  if (status != TrainStatus::diverged) write_file(path_ / "privacy.json", privacy_json(experiment));
  write_file(path_ / "summary.json",
             summary_json(experiment, path_.filename().string(), status, last_));
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
  const auto status = train(experiment, inner);
  if (status == TrainStatus::interrupted) folder.write_checkpoint(experiment);
  folder.finish(experiment, status);
  return status;
}

}  // namespace porter
