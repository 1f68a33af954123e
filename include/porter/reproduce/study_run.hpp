// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "porter/reproduce/study.hpp"
#include "porter/run/metrics.hpp"

namespace porter {

/// What a setting turned out to be.
struct StudyFacts {
  std::string data;  ///< what it is and where it came from
  std::size_t agents = 0, samples = 0, dim = 0;
  std::optional<double> kept = {}, rho = {}, majority_rate = {};
  double alpha = 0, sigma = 0;
  std::string privacy = {};  ///< one sentence
};

/// One setting with one seed, to the end.
struct StudyRun {
  enum class Status { finished, diverged, failed };
  std::size_t setting = 0;
  std::uint64_t seed = 0;
  Status status = Status::failed;
  std::string reason = {};            ///< why it did not finish, one line
  std::vector<MetricsRow> rows = {};  ///< its evaluations, as far as it got
  std::optional<StudyFacts> facts = {};

  bool finished() const { return status == Status::finished; }
};
const char* to_string(StudyRun::Status status);

/// How far a study is. Read it from any thread.
struct StudyCounters {
  std::atomic<std::size_t> runs_done{0}, runs{0};
  std::atomic<std::uint64_t> rounds_done{0}, rounds{0};  ///< of the runs that were not known
};

struct StudyHooks {
  std::size_t threads = 0;  ///< 0: one per core; a run has one, more where there are fewer runs
  bool forget = false;      ///< run everything again
  std::function<bool()> stop_requested = [] { return false; };
  /// From any thread, often; the setting that is being trained.
  std::function<void(const StudyCounters&, std::size_t)> after_round = [](const StudyCounters&,
                                                                          std::size_t) {};
};

struct StudyResult {
  std::vector<StudyRun> runs;  ///< by setting, then by seed; every one is there
  std::size_t seeds = 0;
  std::size_t trained = 0;  ///< by this call; the others were in the journal
  std::size_t refused = 0;  ///< by the config
  std::size_t foreign = 0;  ///< runs in the journal that are none of this study

  const StudyRun& run(std::size_t setting, std::size_t seed_index) const {
    return runs[setting * seeds + seed_index];
  }
};

/// Trains every setting with every seed, unless `folder`/journal.jsonl knows the result: a run is
/// known by its resolved config, so runs of other settings stay there and are not used. A finished
/// run is on disk before the next one starts. A run that diverges or cannot be made is a result
/// with its reason; those that failed are tried again by the next call.
///
/// Nothing comes back when a stop was requested. Results do not depend on the threads.
std::optional<StudyResult> run_study(const Study& study, const std::filesystem::path& folder,
                                     const StudyHooks& hooks);

}  // namespace porter
