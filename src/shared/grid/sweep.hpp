// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grid/grid.hpp"
#include "train/run_folder.hpp"

namespace porter {

/// From "section.key", in the order given.
using KeyTexts = std::vector<std::pair<std::string, std::string>>;

/// What a sweep asks for, from the command line or from the section [sweep] of a config. What is
/// absent is left to the other, then to the default.
struct SweepOptions {
  KeyTexts vary = {};                         ///< to SweepValues texts
  std::vector<KeyTexts> settings = {};        ///< or each setting by itself, the same keys in each
  std::optional<std::uint32_t> random = {};   ///< settings to draw; 0: the whole grid
  std::optional<std::uint32_t> seeds = {};    ///< runs of each setting; default 3
  std::optional<std::uint32_t> folds = {};    ///< of a cross-validation; 0: none, the default
  std::optional<std::string> metric = {};     ///< default "loss", with folds "test_loss"
  std::optional<std::uint32_t> halving = {};  ///< times; default 0
  std::optional<double> hopeless = {};        ///< times the start's loss; 0: never; default 10
};

/// A figure of the last evaluation to choose by.
struct SweepMetric {
  MetricsColumn column;
  bool higher_is_better = false;

  bool better(double a, double b) const { return higher_is_better ? a > b : a < b; }
  /// Whether it is measured on rows that are not trained on.
  bool held_out() const;
};
/// Error{usage} names those that can be chosen by.
SweepMetric find_sweep_metric(const std::string& name);

/// Where the settings come from.
enum class SweepDesign { grid, random, listed };

/// A sweep, every choice made: which settings run, with which seeds, and how the best is found.
struct Sweep : Grid {
  /// What a setting's figures are averaged over: "seeds", or "folds and seeds".
  const char* averaged() const { return folds > 0 ? "folds and seeds" : "seeds"; }

  std::vector<std::string> keys;  ///< that vary
  SweepMetric metric;
  std::uint32_t halving = 0;
  double hopeless = 10;
  SweepDesign design = SweepDesign::grid;
  std::string toml;  ///< a config that gives the same sweep from any folder
};

/// Reads the config, of which `overrides` ("section.key=value") and `wins` win. Settings that the
/// config does not accept are kept with the reason; Error{usage} if it accepts none.
Sweep load_sweep(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                 const SweepOptions& wins);

/// A setting over all its seeds and folds.
struct SettingResult {
  std::size_t setting = 0;
  RunEnd status = RunEnd::failed;  ///< the worst of its runs
  std::string reason = {};
  std::vector<GridRun> runs = {};                ///< in the order of the trials
  std::optional<double> mean = {}, stddev = {};  ///< of the metric, where every run has it

  /// The mean of a column over the runs, where every run has it.
  std::optional<double> mean_of(const MetricsColumn& column) const;
};

/// The best first: finished by the metric, then those dropped (the last first), then the rest.
struct SweepResult {
  std::vector<SettingResult> ranked;
  /// nullptr where no setting finished.
  const SettingResult* best() const;
  std::size_t count(RunEnd status) const;
};

/// `runs` has a vector per setting with a run per trial.
SweepResult rank_settings(const Sweep& sweep, std::vector<std::vector<GridRun>> runs);

/// What a reader must know, a sentence each: that epsilon does not cover the choice, metrics that
/// mislead, a best value at the end of its range.
std::vector<std::string> sweep_notes(const Sweep& sweep, const SweepResult& result);

/// One line per setting and trial, in order; the same bytes however the sweep was carried out.
std::string sweep_csv(const Sweep& sweep, const SweepResult& result);
std::string sweep_summary_json(const Sweep& sweep, const SweepResult& result);

/// Carries out a sweep in its folder: sweep.toml, journal.jsonl (one line per run, on disk before
/// the next one starts) and, when it is complete, results.csv, summary.json and best.toml.
///
/// Runs are trained in stages, and what is decided between two stages depends on their results
/// only, so neither the number of jobs nor an interruption changes anything:
///  - every setting with the first seed (and its first fold); a setting that diverged or failed
///    stops here;
///  - the others with the other folds and seeds;
///  - with `halving` = h both of these first to round T / 2^h, then to T / 2^(h-1), ..., T; at each
///    but the last, the better half of the settings (rounded up) by the mean of the metric goes on.
/// A run is hopeless when its loss is above `hopeless` times the loss at the start.
///
/// Nothing comes back when a stop was requested: runs underway leave a checkpoint. Error{usage} if
/// the folder holds a sweep (refuse), another sweep or one of another version of porter (resume),
/// or something else.
std::optional<SweepResult> run_sweep(const Sweep& sweep, const std::filesystem::path& folder,
                                     ExistingRun existing, const GridHooks& hooks);

}  // namespace porter
