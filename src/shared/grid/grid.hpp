// SPDX-License-Identifier: Apache-2.0
// Settings times seeds: what porter sweep and porter reproduce train.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "porter/config/config.hpp"
#include "porter/train/assemble.hpp"
#include "porter/train/metrics.hpp"

namespace porter {

/// One choice of values. It runs once per seed, and once per fold and seed in a cross-validation.
struct GridSetting {
  std::string name = {};                 ///< "algorithm.step = 0.1, algorithm.batch = 8"
  std::vector<std::string> values = {};  ///< a sweep: of its keys, as a config writes them
  std::optional<Config> config = {};     ///< with the first seed; nothing where it is refused
  std::string refused = {};              ///< why
  std::string missing_data = {};         ///< the data set that built-in data stands in for
};

/// What the runs of a setting differ in.
struct GridTrial {
  std::uint64_t seed = 0;
  std::uint32_t fold = 0;  ///< that is the test set, from 1; 0: no cross-validation

  /// "seed 3, fold 2"
  std::string name() const;
};

struct Grid {
  std::vector<GridSetting> settings;
  std::vector<std::uint64_t> seeds;
  std::uint32_t folds = 0;  ///< 0: no cross-validation

  /// In the order in which they run: all folds of a seed, then the next seed.
  std::vector<GridTrial> trials() const;
  /// What a setting that was not refused computes in a trial.
  Config config_of(std::size_t setting, const GridTrial& trial) const;
};
inline constexpr std::uint32_t kMaxSeeds = 1000;

/// A value as people read it: a text without its quotes.
std::string plain_value(const std::string& value);

/// How a run ended, or where it stands. The better first.
enum class RunEnd {
  paused,    ///< has reached the round of a halving and waits
  finished,  ///< all rounds
  dropped,   ///< was not among the better half
  diverged,  ///< left the finite numbers, or was hopeless
  failed,    ///< could not be run; the next call tries again
  skipped,   ///< another seed of the setting diverged or failed before
};
template <>
struct Choices<RunEnd> {
  static constexpr Choice<RunEnd> table[] = {
      {"paused", RunEnd::paused},     {"finished", RunEnd::finished}, {"dropped", RunEnd::dropped},
      {"diverged", RunEnd::diverged}, {"failed", RunEnd::failed},     {"skipped", RunEnd::skipped}};
};
inline std::string to_string(RunEnd end) { return std::string(choice_text(end)); }

/// What a config turned out to be.
struct GridFacts {
  std::string data;  ///< what it is and where it came from
  std::size_t agents = 0, samples = 0, dim = 0;
  std::optional<double> kept = {}, rho = {}, majority_rate = {};
  double alpha = 0, sigma = 0;
  std::string privacy = {};  ///< one sentence
};

/// What is known of one trial of a setting.
struct GridRun {
  std::size_t setting = 0;
  std::uint64_t seed = 0;
  std::uint32_t fold = 0;  ///< as GridTrial has it
  RunEnd status = RunEnd::failed;
  std::string reason = {};  ///< why it did not finish, one line
  /// Its evaluations as far as it got, of a sweep the last one; the same whenever the run is
  /// repeated. Their seconds are those of a modelled clock, and 0 without one.
  std::vector<MetricsRow> rows = {};
  std::optional<GridFacts> facts = {};  ///< not of a sweep

  bool finished() const { return status == RunEnd::finished; }
  /// A figure of the last row, where there is one.
  std::optional<double> last(const MetricsColumn& column) const {
    return rows.empty() ? std::nullopt : column.get(rows.back());
  }
};

/// How far it is. Read it from any thread.
struct GridCounters {
  std::atomic<std::size_t> runs_done{0},
      runs{0};                                ///< settings times trials; runs given up are done
  std::atomic<std::uint64_t> rounds_done{0};  ///< by this process
  std::atomic<std::int64_t> rounds_left{0};   ///< as far as can be foreseen
};

struct GridHooks {
  std::size_t jobs = 0;  ///< runs at the same time; 0: one per core
  std::function<bool()> stop_requested = [] { return false; };
  /// From any thread, for every run before its trainer: who computes it (use_cuda).
  std::function<void(RunParts&)> prepare = [](RunParts&) {};
  /// From any thread, often; the setting that is being trained.
  std::function<void(const GridCounters&, std::size_t)> after_round = [](const GridCounters&,
                                                                         std::size_t) {};
  /// From any thread: how much of a file that holds data has been read.
  LoadProgress reading = {};
  /// One call at a time. Also for the runs that were known before.
  std::function<void(const GridRun&)> after_run = [](const GridRun&) {};
};

struct GridResult {
  std::vector<GridRun> runs;  ///< by setting, then by seed; every one is there
  std::size_t seeds = 0;
  std::size_t trained = 0;  ///< by this call; the others were in the journal
  std::size_t refused = 0;  ///< by the config
  std::size_t foreign = 0;  ///< runs in the journal that are none of this grid

  const GridRun& run(std::size_t setting, std::size_t seed_index) const {
    return runs[setting * seeds + seed_index];
  }
};

/// Trains every setting with every seed, unless `folder`/journal.jsonl knows the result: a run is
/// known by its resolved config, so runs of other settings stay there and are not used. A finished
/// run is on disk before the next one starts. A run that diverges or cannot be made is a result
/// with its reason; those that failed are tried again by the next call. `forget` and a journal of
/// another version, which may compute other numbers from the same config, begin anew.
///
/// Nothing comes back when a stop was requested. Results do not depend on the jobs.
std::optional<GridResult> run_grid(const Grid& grid, const std::filesystem::path& folder,
                                   const GridHooks& hooks, bool forget = false);

}  // namespace porter
