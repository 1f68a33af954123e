// SPDX-License-Identifier: Apache-2.0
#include "porter/reproduce/study_run.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "porter/core/error.hpp"
#include "porter/core/thread_pool.hpp"
#include "porter/run/experiment.hpp"
#include "run_journal.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

StudyFacts facts_of(const Experiment& experiment) {
  const auto& facts = experiment.facts();
  StudyFacts out{.data = facts.data_source,
                 .agents = facts.agents,
                 .samples = facts.samples_per_agent,
                 .dim = facts.dim};
  if (facts.kept) out.kept = static_cast<double>(*facts.kept);
  out.rho = facts.rho;
  out.majority_rate = facts.majority_rate;
  out.alpha = facts.alpha.value_or(0);
  out.sigma = facts.sigma;
  out.privacy = experiment.privacy().sentence(experiment.releases());
  return out;
}

class Runner {
 public:
  Runner(const Study& study, const fs::path& folder, const StudyHooks& hooks)
      : study_(study), hooks_(hooks), journal_(folder, hooks.forget), pool_(hooks.threads) {}

  std::optional<StudyResult> run() {
    StudyResult result{.runs = {}, .seeds = study_.seeds};
    std::vector<std::size_t> unknown;
    std::size_t known = 0;
    for (std::size_t s = 0; s < study_.settings.size(); ++s)
      for (std::uint64_t seed = 1; seed <= study_.seeds; ++seed) {
        result.runs.push_back({.setting = s, .seed = seed, .reason = study_.settings[s].refused});
        auto& run = result.runs.back();
        if (!study_.settings[s].config) {
          ++result.refused;
          continue;
        }
        if (const auto* found = journal_.find(key_of(run))) {
          run = *found;
          run.setting = s;
          ++known;
        } else {
          unknown.push_back(result.runs.size() - 1);
        }
      }
    result.foreign = journal_.size() - std::min(journal_.size(), known);
    count(result, unknown);
    train_all(result, unknown);
    if (stop_requested()) return std::nullopt;
    result.trained = unknown.size();
    return result;
  }

 private:
  const Config& config_of(const StudyRun& run) const {
    return *study_.settings[run.setting].config;
  }
  std::string key_of(const StudyRun& run) const {
    return RunJournal::key_of(config_of(run), run.seed);
  }
  bool stop_requested() const { return broken_ || hooks_.stop_requested(); }

  void count(const StudyResult& result, const std::vector<std::size_t>& unknown) {
    counters_.runs = result.runs.size();
    counters_.runs_done = result.runs.size() - unknown.size();
    std::uint64_t rounds = 0;
    for (const auto i : unknown) rounds += config_of(result.runs[i]).algorithm.rounds;
    counters_.rounds = rounds;
  }

  // The long runs first, so that no thread is left with one at the end; among equals, seed by seed.
  void train_all(StudyResult& result, std::vector<std::size_t> unknown) {
    std::stable_sort(unknown.begin(), unknown.end(), [&](std::size_t a, std::size_t b) {
      const auto &x = result.runs[a], &y = result.runs[b];
      const auto rounds_x = config_of(x).algorithm.rounds, rounds_y = config_of(y).algorithm.rounds;
      return rounds_x != rounds_y ? rounds_x > rounds_y : x.seed < y.seed;
    });
    const auto threads =
        std::max<std::size_t>(1, pool_.threads() / std::max<std::size_t>(1, unknown.size()));
    pool_.parallel_for(unknown.size(), [&](std::size_t i) {
      if (!stop_requested()) train_and_record(result.runs[unknown[i]], threads);
    });
  }

  void train_and_record(StudyRun& run, std::size_t threads) {
    if (!train_one(run, threads)) return;
    const std::lock_guard lock(mutex_);
    try {
      journal_.append(key_of(run), run);
    } catch (...) {
      broken_ = true;  // the others need not go on
      throw;
    }
    ++counters_.runs_done;
  }

  // False when a stop was requested. Errors become the reason of a failed run.
  bool train_one(StudyRun& run, std::size_t threads) {
    auto config = config_of(run);
    config.run.seed = run.seed;
    config.run.threads = threads;
    try {
      Experiment experiment(config, data_.get(config), accounts_);
      const auto status = train(
          experiment, {.after_round =
                           [&](const Experiment&) {
                             ++counters_.rounds_done;
                             hooks_.after_round(counters_, run.setting);
                           },
                       .after_evaluation = [&](const MetricsRow& row) { run.rows.push_back(row); },
                       .stop_requested = [this] { return stop_requested(); }});
      if (status == TrainStatus::interrupted) return false;
      run.facts = facts_of(experiment);
      run.status =
          status == TrainStatus::diverged ? StudyRun::Status::diverged : StudyRun::Status::finished;
      run.reason = status == TrainStatus::diverged
                       ? concat("the loss was no longer finite or an agent lost after round ",
                                experiment.round())
                       : "";
    } catch (const std::exception& error) {  // bad_alloc too: a setting may be too large
      run.status = StudyRun::Status::failed;
      run.reason = error.what();
      std::replace(run.reason.begin(), run.reason.end(), '\n', ' ');
    }
    for (auto& row : run.rows) row.seconds = 0;  // the same bits whenever a run is repeated
    return true;
  }

  const Study& study_;
  const StudyHooks& hooks_;
  RunJournal journal_;
  ThreadPool pool_;
  RunDataCache data_;
  std::shared_ptr<AccountantCache> accounts_ = std::make_shared<AccountantCache>();
  std::mutex mutex_;  // guards the journal while runs are trained
  StudyCounters counters_;
  std::atomic<bool> broken_{false};
};

}  // namespace

const char* to_string(StudyRun::Status status) {
  switch (status) {
    case StudyRun::Status::finished:
      return "finished";
    case StudyRun::Status::diverged:
      return "diverged";
    default:
      return "failed";
  }
}

std::optional<StudyResult> run_study(const Study& study, const fs::path& folder,
                                     const StudyHooks& hooks) {
  return Runner(study, folder, hooks).run();
}

}  // namespace porter
