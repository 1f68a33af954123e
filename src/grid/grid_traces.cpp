// SPDX-License-Identifier: Apache-2.0
#include "grid_traces.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/text.hpp"
#include "grid/sweep.hpp"
#include "grid/sweep_report.hpp"
#include "grid_journal.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "report/page.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSweepFile = "sweep.toml";

/// A setting that runs of the journal may belong to.
struct KnownSetting {
  std::string name;
  Config config;
  std::string repeat;  // words for porter run, without the seed and the fold
  std::uint32_t folds = 0;

  Config config_of(const GridTrial& trial) const {
    return Grid{.settings = {{.config = config}}, .seeds = {}, .folds = folds}.config_of(0, trial);
  }
};

std::vector<KnownSetting> sweep_settings(const fs::path& folder) {
  const auto file = folder / kSweepFile;
  const auto sweep = load_sweep(file, {}, {});
  const auto names = short_keys(sweep.keys);
  std::vector<KnownSetting> settings;
  for (const auto& setting : sweep.settings) {
    if (!setting.config) continue;
    std::string name, repeat = shell_word(file.string());
    for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
      name += concat(i > 0 ? ", " : "", names[i], " = ", plain_value(setting.values[i]));
      repeat += " --set " + shell_word(sweep.keys[i] + "=" + setting.values[i]);
    }
    settings.push_back({name, *setting.config, repeat, sweep.folds});
  }
  return settings;
}

// The label that porter reproduce wrote into the first line, or the name of the file.
std::string name_in(const fs::path& file) {
  const auto text = read_file(file, std::size_t{1} << 20);
  const auto line = text.substr(0, text.find('\n'));
  return without_controls(line.starts_with("# ") ? line.substr(2) : file.stem().string());
}

std::vector<KnownSetting> study_settings(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder / "configs", error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".toml") files.push_back(it->path());
  require(!error && !files.empty(), ErrorKind::io, (folder / "configs").string(),
          ": expected the configs of a study that has ended, found none; its runs have no names "
          "before");
  std::sort(files.begin(), files.end());
  std::vector<KnownSetting> settings;
  for (const auto& file : files)
    settings.push_back({name_in(file), load_config(file), shell_word(file.string())});
  return settings;
}

// Where no clock is modelled there are no seconds, to draw by or otherwise.
Metrics metrics_of(const std::vector<MetricsRow>& rows, bool clock) {
  Metrics metrics;
  for (const auto& column : metrics_columns()) {
    if (!clock && std::string_view(column.name) == "seconds") continue;
    metrics.names.emplace_back(column.name);
    auto& cells = metrics.columns.emplace_back();
    for (const auto& row : rows) cells.push_back(column.get(row));
  }
  return metrics;
}

void add_facts(const KnownSetting& setting, const GridRun& run, Trace& trace) {
  const auto& algorithm = setting.config.algorithm;
  auto& facts = trace.facts;
  const auto step = [](double value) { return value == 0 ? "auto" : shortest(value); };
  const auto number = [&](const char* key, const std::optional<double>& value) {
    if (value) facts[key] = shortest(*value);
  };
  facts = {{"algorithm", algorithm.name},
           {"model", setting.config.model.name},
           {"graph", setting.config.network.graph},
           {"mixing", setting.config.network.mixing},
           {"compressor", algorithm.compressor},
           {"clip", to_string(algorithm.clip)},
           {"agents", std::to_string(setting.config.network.agents)},
           {"rounds", std::to_string(algorithm.rounds)},
           {"batch", std::to_string(algorithm.batch)},
           {"step", step(algorithm.step)},
           {"consensus", step(algorithm.consensus)},
           {"seed", std::to_string(run.seed)}};
  if (!run.facts) return;
  facts["data"] = run.facts->data;
  facts["m"] = std::to_string(run.facts->samples);
  facts["d"] = std::to_string(run.facts->dim);
  number("k", run.facts->kept);
  number("rho", run.facts->rho);
  number("alpha", run.facts->alpha);
  number("sigma", run.facts->sigma);
  number("majority_rate", run.facts->majority_rate);
  trace.privacy.sentence = run.facts->privacy;
}

// As many as the schedule has at most.
std::size_t planned_evaluations(const Config& config) {
  const auto& [kind, count] = config.run.evaluate;
  const auto rounds = config.algorithm.rounds;
  if (kind == Schedule::Kind::end) return 2;
  if (kind == Schedule::Kind::every) return 2 + (rounds - 1) / std::max(1U, count);
  return std::min<std::size_t>(count, std::size_t{rounds} + 1);
}

Trace trace_of(const fs::path& folder, const KnownSetting& setting, const GridRun& run,
               bool is_sweep, bool complete) {
  Trace trace;
  trace.folder = folder;
  const GridTrial trial{run.seed, run.fold};
  const auto name = without_controls(setting.name);
  // What is trained on differs from fold to fold, so that runs are alike by fold only.
  trace.setting = run.fold > 0 ? concat(name, ", fold ", run.fold) : name;
  trace.name = concat(name, ", ", trial.name());
  trace.status = to_string(run.status);
  if (run.status == RunEnd::paused)  // at the round of a halving; who goes on has a later line
    trace.status = complete ? to_string(RunEnd::dropped) : "unfinished";
  const auto config = setting.config_of(trial);
  trace.metrics = metrics_of(run.rows, has_clock(config));
  trace.config = to_toml(config);
  trace.repeat = concat(setting.repeat, " --set run.seed=", run.seed,
                        run.fold > 0 ? " --set data.fold=" + to_string(config.data.fold) : "");
  add_facts(setting, run, trace);
  if (is_sweep) {
    trace.evaluations = planned_evaluations(config);
    trace.privacy.sentence =
        "One run of a search, whose choice on the same data no epsilon covers.";
  }
  return trace;
}

}  // namespace

bool is_grid_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / GridJournal::kFile, ignored);
}

GridTraces load_grid_traces(const fs::path& folder) {
  const bool is_sweep = fs::exists(folder / kSweepFile);
  GridTraces out{.what = is_sweep ? "a sweep, the last evaluation of each" : "a study"};
  const auto page = folder / (is_sweep ? "report.html" : "index.html");
  if (fs::exists(page)) out.what += concat(" (its own page is ", page.string(), ")");
  const auto settings = is_sweep ? sweep_settings(folder) : study_settings(folder);
  std::map<std::string, GridRun> runs;  // by key, the last word on each
  for (auto& [key, run] : read_journal(folder)) runs[key] = std::move(run);
  std::set<std::pair<std::uint64_t, std::uint32_t>> trials;  // seed and fold
  for (const auto& [key, run] : runs) trials.insert({run.seed, run.fold});
  const bool complete = fs::exists(folder / "summary.json");
  for (const auto& setting : settings)
    for (const auto& [seed, fold] : trials) {
      const auto found = runs.find(run_key(setting.config_of({seed, fold})));
      if (found == runs.end()) continue;
      out.traces.push_back(trace_of(folder, setting, found->second, is_sweep, complete));
      runs.erase(found);
    }
  if (!runs.empty())
    out.left_out.push_back(
        concat(runs.size(), " runs of its journal belong to settings that it no longer has"));
  return out;
}

}  // namespace porter
