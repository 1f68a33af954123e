// SPDX-License-Identifier: Apache-2.0
#include "porter/run/sweep_run.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "porter/core/error.hpp"
#include "porter/core/thread_pool.hpp"
#include "porter/io/file.hpp"
#include "sweep_journal.hpp"
#include "sweep_trial.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class Runner {
 public:
  Runner(const Sweep& sweep, const fs::path& folder, ExistingRun existing, const SweepHooks& hooks)
      : sweep_(sweep),
        folder_(folder),
        hooks_(hooks),
        journal_(folder, sweep, existing),
        pool_(hooks.jobs) {
    counters_.runs = sweep.settings.size() * sweep.seeds.size();
    for (std::size_t s = 0; s < sweep.settings.size(); ++s) {
      auto& runs = runs_.emplace_back();
      for (const auto seed : sweep.seeds)
        runs.push_back({.setting = s, .seed = seed, .reason = sweep.settings[s].refused});
      if (sweep.settings[s].config) alive_.push_back(s);
    }
  }

  /// False when a stop was requested.
  bool run() {
    const std::size_t seeds = sweep_.seeds.size();
    for (std::uint32_t rung = sweep_.halving;; --rung) {
      const auto entered = alive_.size();
      if (!run_stage(rung, 0, 1) || !run_stage(rung, 1, seeds)) return false;
      if (rung == 0) return true;
      drop_worse_half(rung, entered);
    }
  }

  std::vector<std::vector<SweepRun>> runs() { return std::move(runs_); }

 private:
  std::uint32_t target(std::size_t setting, std::uint32_t rung) const {
    return std::max(1U, sweep_.settings[setting].config->algorithm.rounds >> rung);
  }
  fs::path checkpoint(std::size_t setting, std::uint64_t seed) const {
    return folder_ / "checkpoints" /
           (std::to_string(setting) + "-" + std::to_string(seed) + ".npz");
  }

  // The living settings with seeds [from, to), up to their rounds of this rung.
  bool run_stage(std::uint32_t rung, std::size_t from, std::size_t to) {
    std::vector<SweepTrial> trials;
    for (std::size_t s = from; s < to; ++s)
      for (const auto setting : alive_) {
        const auto seed = sweep_.seeds[s];
        if (const auto* known = journal_.find(setting, seed, target(setting, rung)))
          hooks_.after_run(*known);
        else
          trials.push_back({.setting = setting,
                            .seed = seed,
                            .target = target(setting, rung),
                            .threads = 1,
                            .checkpoint = checkpoint(setting, seed)});
      }
    foresee(rung, from, trials);
    pool_.parallel_for(trials.size(), [&](std::size_t i) {
      auto trial = trials[i];
      trial.threads = std::max<std::size_t>(1, pool_.threads() / trials.size());
      run_and_record(trial);
    });
    if (stop_requested()) return false;
    settle(rung, from, to);
    return true;
  }

  bool stop_requested() const { return broken_ || hooks_.stop_requested(); }

  void run_and_record(const SweepTrial& trial) {
    if (stop_requested()) return;
    const auto run = run_trial(sweep_, trial, data_, accounts_,
                               {.stop_requested = [this] { return stop_requested(); },
                                .after_round =
                                    [this] {
                                      ++counters_.rounds_done;
                                      --counters_.rounds_left;
                                      hooks_.after_round(counters_);
                                    }});
    if (!run) return;
    const std::lock_guard lock(mutex_);
    try {
      journal_.append(*run);
    } catch (...) {
      broken_ = true;  // the others need not go on
      throw;
    }
    if (run->status != SweepStatus::paused) ++counters_.runs_done;
    hooks_.after_run(*run);
  }

  // Takes the results of a stage over and lays to rest the settings that did not survive it.
  void settle(std::uint32_t rung, std::size_t from, std::size_t to) {
    for (const auto setting : alive_)
      for (std::size_t s = from; s < to; ++s)
        runs_[setting][s] = *journal_.find(setting, sweep_.seeds[s], target(setting, rung));
    std::erase_if(alive_, [&](std::size_t setting) {
      auto& runs = runs_[setting];
      const auto bad = std::find_if(runs.begin() + std::ptrdiff_t(from),
                                    runs.begin() + std::ptrdiff_t(to), [](const auto& run) {
                                      return run.status == SweepStatus::diverged ||
                                             run.status == SweepStatus::failed;
                                    });
      if (bad == runs.begin() + std::ptrdiff_t(to)) return false;
      const auto reason = concat(to_string(bad->status), " with seed ", bad->seed);
      for (std::size_t s = 0; s < runs.size(); ++s)
        if (runs[s].status == SweepStatus::paused || s >= to) {
          runs[s].status = SweepStatus::skipped;
          runs[s].reason = reason;
        }
      forget_checkpoints(setting);
      return true;
    });
    count_done();
  }

  void drop_worse_half(std::uint32_t rung, std::size_t entered) {
    const auto kept = (entered + 1) / 2;
    std::vector<std::pair<double, std::size_t>> order;
    for (const auto setting : alive_) {
      double sum = 0;
      for (const auto& run : runs_[setting]) sum += *sweep_.metric.column.get(*run.row);
      order.emplace_back(sweep_.metric.higher_is_better ? -sum : sum, setting);
    }
    std::sort(order.begin(), order.end());
    for (std::size_t place = kept; place < order.size(); ++place) {
      const auto setting = order[place].second;
      for (auto& run : runs_[setting]) {
        run.status = SweepStatus::dropped;
        run.reason =
            concat("dropped at round ", target(setting, rung), " of ", target(setting, 0),
                   ": number ", place + 1, " of ", entered, ", the best ", kept, " went on");
      }
      std::erase(alive_, setting);
      forget_checkpoints(setting);
    }
    count_done();
  }

  void forget_checkpoints(std::size_t setting) {
    std::error_code ignored;
    for (const auto seed : sweep_.seeds) fs::remove(checkpoint(setting, seed), ignored);
  }

  void count_done() {
    std::size_t waiting = 0;
    for (const auto setting : alive_)
      for (const auto& run : runs_[setting])
        waiting += run.status == SweepStatus::paused || run.status == SweepStatus::failed;
    counters_.runs_done = counters_.runs - waiting;
  }

  // The rounds of the stage and of those to come, were no setting to diverge.
  void foresee(std::uint32_t rung, std::size_t from, const std::vector<SweepTrial>& trials) {
    const auto length = [&](std::size_t setting, std::uint32_t at) {
      return target(setting, at) - (at == sweep_.halving ? 0 : target(setting, at + 1));
    };
    std::int64_t left = 0;
    for (const auto& trial : trials) left += length(trial.setting, rung);
    double share = 1;
    for (std::uint32_t at = rung + 1; at-- > 0; share /= 2)
      for (const auto setting : alive_) {
        const auto seeds = at < rung   ? sweep_.seeds.size()
                           : from == 0 ? sweep_.seeds.size() - 1
                                       : 0;
        left += static_cast<std::int64_t>(share * length(setting, at) * double(seeds));
      }
    counters_.rounds_left = left;
  }

  const Sweep& sweep_;
  fs::path folder_;
  const SweepHooks& hooks_;
  SweepJournal journal_;
  ThreadPool pool_;
  RunDataCache data_;
  std::shared_ptr<AccountantCache> accounts_ = std::make_shared<AccountantCache>();
  std::vector<std::vector<SweepRun>> runs_;  // [setting][seed]
  std::vector<std::size_t> alive_;           // settings, ascending
  std::mutex mutex_;                         // guards the journal while a stage runs
  SweepCounters counters_;
  std::atomic<bool> broken_{false};
};

void write_results(const Sweep& sweep, const SweepResult& result, const fs::path& folder) {
  write_file(folder / "results.csv", sweep_csv(sweep, result));
  write_file(folder / "summary.json", sweep_summary_json(sweep, result));
  std::error_code ignored;
  if (const auto* best = result.best())
    write_file(folder / "best.toml", to_toml(*sweep.settings[best->setting].config));
  else
    fs::remove(folder / "best.toml", ignored);
  fs::remove_all(folder / "checkpoints", ignored);
}

}  // namespace

std::optional<SweepResult> run_sweep(const Sweep& sweep, const fs::path& folder,
                                     ExistingRun existing, const SweepHooks& hooks) {
  Runner runner(sweep, folder, existing, hooks);
  if (!runner.run()) return std::nullopt;
  auto result = rank_settings(sweep, runner.runs());
  write_results(sweep, result, folder);
  return result;
}

}  // namespace porter
