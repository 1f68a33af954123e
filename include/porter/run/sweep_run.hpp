// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "porter/run/run_folder.hpp"
#include "porter/run/sweep.hpp"

namespace porter {

/// How far a sweep is. Read it from any thread.
struct SweepCounters {
  std::atomic<std::size_t> runs_done{0}, runs{0};  ///< settings times seeds; runs given up are done
  std::atomic<std::uint64_t> rounds_done{0};       ///< by this process
  std::atomic<std::int64_t> rounds_left{0};        ///< as far as can be foreseen
};

struct SweepHooks {
  std::size_t jobs = 0;  ///< runs at the same time; 0: one per core
  std::function<bool()> stop_requested = [] { return false; };
  /// From any thread, often.
  std::function<void(const SweepCounters&)> after_round = [](const SweepCounters&) {};
  /// One call at a time. Also for the runs that a resumed sweep finds done.
  std::function<void(const SweepRun&)> after_run = [](const SweepRun&) {};
};

/// Carries out a sweep in its folder: sweep.toml, journal.csv (one line per run, on disk before the
/// next one starts) and, when it is complete, results.csv, summary.json and best.toml.
///
/// Runs are trained in stages, and what is decided between two stages depends on their results
/// only, so neither the number of jobs nor an interruption changes anything:
///  - every setting with the first seed; a setting that diverged or failed stops here;
///  - the others with the other seeds;
///  - with `halving` = h both of these first to round T / 2^h, then to T / 2^(h-1), ..., T; at each
///    but the last, the better half of the settings (rounded up) by the mean of the metric goes on.
/// A run is hopeless when its loss is above `hopeless` times the loss at the start.
///
/// Nothing comes back when a stop was requested: runs underway leave a checkpoint. Error{usage} if
/// the folder holds a sweep (refuse) or another sweep (resume), or something else.
std::optional<SweepResult> run_sweep(const Sweep& sweep, const std::filesystem::path& folder,
                                     ExistingRun existing, const SweepHooks& hooks);

}  // namespace porter
