// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "porter/run/config.hpp"
#include "porter/run/metrics.hpp"

namespace porter {

/// What a sweep asks for, from the command line or from the section [sweep] of a config. What is
/// absent is left to the other, then to the default.
struct SweepOptions {
  std::vector<std::pair<std::string, std::string>> vary =
      {};  ///< "section.key" and a SweepValues text
  std::vector<std::vector<std::pair<std::string, std::string>>> settings =
      {};                                     ///< or each setting by itself, the same keys in each
  std::optional<std::uint32_t> random = {};   ///< settings to draw; 0: the whole grid
  std::optional<std::uint32_t> seeds = {};    ///< runs of each setting; default 3
  std::optional<std::string> metric = {};     ///< default "loss"
  std::optional<std::uint32_t> halving = {};  ///< times; default 0
  std::optional<double> hopeless = {};        ///< times the start's loss; 0: never; default 10
};

/// One choice of values.
struct SweepSetting {
  std::vector<std::string> values;  ///< one per key, as a config writes them
  std::optional<Config> config;     ///< with the first seed; nothing where it is refused
  std::string refused;              ///< why

  /// "step = 0.1, batch = 8", with the keys' sections.
  std::string name(const std::vector<std::string>& keys) const;
};

/// A figure of the last evaluation to choose by.
struct SweepMetric {
  MetricsColumn column;
  bool higher_is_better = false;

  bool better(double a, double b) const { return higher_is_better ? a > b : a < b; }
};
/// Error{usage} names those that can be chosen by.
SweepMetric find_sweep_metric(const std::string& name);

/// Where the settings come from.
enum class SweepDesign { grid, random, listed };

/// A sweep, every choice made: which settings run, with which seeds, and how the best is found.
struct Sweep {
  std::vector<std::string> keys;
  std::vector<SweepSetting> settings;
  std::vector<std::uint64_t> seeds;
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

/// How a run of a setting ended, or where it stands.
enum class SweepStatus {
  paused,    ///< has reached the round of a halving and waits
  finished,  ///< all rounds
  dropped,   ///< was not among the better half
  diverged,  ///< left the finite numbers, or was hopeless
  failed,    ///< could not be run; a resumed sweep tries again
  skipped,   ///< another seed of the setting diverged or failed before
};
const char* to_string(SweepStatus status);

/// What is known of one setting with one seed.
struct SweepRun {
  std::size_t setting = 0;
  std::uint64_t seed = 0;
  SweepStatus status = SweepStatus::failed;
  std::optional<MetricsRow> row = {};  ///< the last evaluation; its seconds are always 0
  std::string reason = {};             ///< why it did not finish, one line
};

/// A setting over all its seeds.
struct SettingResult {
  std::size_t setting = 0;
  SweepStatus status = SweepStatus::failed;  ///< the worst of its runs
  std::string reason = {};
  std::vector<SweepRun> runs = {};               ///< in the order of the seeds
  std::optional<double> mean = {}, stddev = {};  ///< of the metric, where every run has it

  /// The mean of a column over the runs, where every run has it.
  std::optional<double> mean_of(const MetricsColumn& column) const;
};

/// The best first: finished by the metric, then those dropped (the last first), then the rest.
struct SweepResult {
  std::vector<SettingResult> ranked;
  /// nullptr where no setting finished.
  const SettingResult* best() const;
  std::size_t count(SweepStatus status) const;
};

/// `runs` has a vector per setting with a run per seed.
SweepResult rank_settings(const Sweep& sweep, std::vector<std::vector<SweepRun>> runs);

/// What a reader must know, a sentence each: that epsilon does not cover the choice, metrics that
/// mislead, a best value at the end of its range.
std::vector<std::string> sweep_notes(const Sweep& sweep, const SweepResult& result);

/// One line per setting and seed, in order; the same bytes however the sweep was carried out.
std::string sweep_csv(const Sweep& sweep, const SweepResult& result);
std::string sweep_summary_json(const Sweep& sweep, const SweepResult& result);

}  // namespace porter
