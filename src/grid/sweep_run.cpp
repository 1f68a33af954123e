// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "config/difference.hpp"
#include "grid/sweep.hpp"
#include "grid_runner.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlanFile = "sweep.toml";
// Before 0.2 the journal was journal.csv.
constexpr const char* kOldJournal = "journal.csv";
// What a sweep leaves beside plan and journal; the page is the command's.
constexpr const char* kResults[] = {"results.csv", "summary.json", "best.toml",
                                    "report.html", "checkpoints",  kOldJournal};

// What may be done in this folder, before anything is touched.
void check_folder(const fs::path& folder, const Sweep& sweep, ExistingRun existing) {
  const bool holds_sweep =
      fs::exists(folder / kPlanFile) &&
      (fs::exists(folder / GridJournal::kFile) || fs::exists(folder / kOldJournal));
  require(!fs::exists(folder) || fs::is_directory(folder), ErrorKind::usage, "the output ",
          folder.string(), " exists and is not a folder");
  require(holds_sweep || !fs::exists(folder) || holds_nothing(folder), ErrorKind::usage,
          "the output folder ", folder.string(), " holds other files and no sweep; choose another");
  if (existing == ExistingRun::resume) {
    require(holds_sweep, ErrorKind::usage, "cannot resume: ", folder.string(), " holds no sweep");
    const auto difference = config_difference(read_file(folder / kPlanFile), sweep.toml);
    require(difference.empty(), ErrorKind::usage, "cannot resume: ", folder.string(),
            " was made with another sweep (", difference, ")");
  }
  require(!holds_sweep || existing != ExistingRun::refuse, ErrorKind::usage, "the output folder ",
          folder.string(), " holds a sweep already");
}

// The folder with its plan; once the journal is there, too, what is killed can be resumed.
fs::path planned(const fs::path& folder, const Sweep& sweep, ExistingRun existing) {
  check_folder(folder, sweep, existing);
  make_folder(folder);
  if (!fs::exists(folder / kPlanFile)) write_file(folder / kPlanFile, sweep.toml);
  return folder;
}

/// Trains a sweep stage by stage.
class Stages {
 public:
  Stages(const Sweep& sweep, const fs::path& folder, ExistingRun existing, const GridHooks& hooks)
      : sweep_(sweep),
        trials_(sweep.trials()),
        runner_(sweep, planned(folder, sweep, existing), "porter sweep",
                {.pauses = true,
                 .hopeless = sweep.hopeless,
                 .judge = [this](GridRun& run) { judge(run); }},
                hooks) {
    if (existing == ExistingRun::replace) empty(folder);
    require(!runner_.journal().foreign() && !fs::exists(folder / kOldJournal), ErrorKind::usage,
            "cannot resume: the sweep in ", folder.string(),
            " was made by another version of porter");
    for (std::size_t s = 0; s < sweep.settings.size(); ++s) {
      auto& runs = runs_.emplace_back();
      const auto& setting = sweep.settings[s];
      for (const auto& [seed, fold] : trials_)
        runs.push_back({.setting = s,
                        .seed = seed,
                        .fold = fold,
                        .status = setting.config ? RunEnd::paused : RunEnd::failed,
                        .reason = setting.refused});
      if (setting.config) alive_.push_back(s);
    }
    count_done();
  }

  /// False when a stop was requested.
  bool run() {
    for (std::uint32_t rung = sweep_.halving;; --rung) {
      const auto entered = alive_.size();
      if (!run_stage(rung, 0, 1) || !run_stage(rung, 1, trials_.size())) return false;
      if (rung == 0) return true;
      drop_worse_half(rung, entered);
    }
  }

  std::vector<std::vector<GridRun>> runs() { return std::move(runs_); }

 private:
  // Begins anew: first the journal, which is ours by now, and the plan last, so that at any time
  // the folder holds a sweep that can be resumed.
  void empty(const fs::path& folder) {
    runner_.journal().clear();
    for (const char* name : kResults) fs::remove_all(folder / name);
    write_file(folder / kPlanFile, sweep_.toml);
  }

  // The metric must be there and finite.
  void judge(GridRun& run) const {
    const auto& column = sweep_.metric.column;
    const auto value = run.last(column);
    if (value && std::isfinite(*value)) return;
    run.status = value ? RunEnd::diverged : RunEnd::failed;
    run.reason = value ? concat(column.name, " is ", *value, " after round ", run.rows.back().round)
                       : concat("there is no ", column.name, " to choose by (no test set?)");
  }

  std::uint32_t rounds(std::size_t setting) const {
    return sweep_.settings[setting].config->algorithm.rounds;
  }
  // Where a setting pauses; before the first rung it has not begun.
  std::uint32_t target(std::size_t setting, std::uint32_t rung) const {
    return rung > sweep_.halving ? 0 : std::max(1U, rounds(setting) >> rung);
  }

  // The living settings with trials [from, to), up to their rounds of this rung.
  bool run_stage(std::uint32_t rung, std::size_t from, std::size_t to) {
    std::vector<GridTask> tasks;
    for (std::size_t s = from; s < to; ++s)
      for (const auto setting : alive_)
        tasks.push_back({.setting = setting,
                         .trial = trials_[s],
                         .target = target(setting, rung),
                         .from = target(setting, rung + 1)});
    auto runs = runner_.run(tasks, later(rung, from));
    if (!runs) return false;
    auto next = runs->begin();
    for (std::size_t s = from; s < to; ++s)
      for (const auto setting : alive_) runs_[setting][s] = std::move(*next++);
    std::erase_if(alive_, [&](std::size_t setting) { return laid_to_rest(setting, to); });
    count_done();
    return true;
  }

  // Whether the setting, of which trials [0, to) have run, did not survive.
  bool laid_to_rest(std::size_t setting, std::size_t to) {
    auto& runs = runs_[setting];
    const auto bad = std::find_if(runs.begin(), runs.end(), [](const auto& run) {
      return run.status == RunEnd::diverged || run.status == RunEnd::failed;
    });
    if (bad == runs.end()) return false;
    const auto reason =
        concat(to_string(bad->status), " with ", GridTrial{bad->seed, bad->fold}.name());
    for (std::size_t s = 0; s < runs.size(); ++s)
      if (runs[s].status == RunEnd::paused || s >= to) {
        runs[s].status = RunEnd::skipped;
        runs[s].reason = reason;
      }
    runner_.forget_checkpoints(setting);
    return true;
  }

  void drop_worse_half(std::uint32_t rung, std::size_t entered) {
    const auto kept = (entered + 1) / 2;
    std::vector<std::pair<double, std::size_t>> order;
    for (const auto setting : alive_) {
      double sum = 0;
      for (const auto& run : runs_[setting]) sum += *run.last(sweep_.metric.column);
      order.emplace_back(sweep_.metric.higher_is_better ? -sum : sum, setting);
    }
    std::sort(order.begin(), order.end());
    for (std::size_t place = kept; place < order.size(); ++place) {
      const auto setting = order[place].second;
      for (auto& run : runs_[setting]) {
        run.status = RunEnd::dropped;
        run.reason =
            concat("dropped at round ", target(setting, rung), " of ", rounds(setting), ": number ",
                   place + 1, " of ", entered, ", the best ", kept, " went on");
      }
      std::erase(alive_, setting);
      runner_.forget_checkpoints(setting);
    }
    count_done();
  }

  void count_done() {
    std::size_t waiting = 0;
    for (const auto& runs : runs_)
      for (const auto& run : runs) waiting += run.status == RunEnd::paused;
    runner_.counters().runs_done = runner_.counters().runs - waiting;
  }

  // The rounds after this stage, were no setting to diverge.
  std::int64_t later(std::uint32_t rung, std::size_t from) const {
    const auto trials = trials_.size();
    double rounds = 0, share = 1;
    for (std::uint32_t at = rung + 1; at-- > 0; share /= 2)
      for (const auto setting : alive_)
        rounds += share * (target(setting, at) - target(setting, at + 1)) *
                  double(at < rung   ? trials
                         : from == 0 ? trials - 1
                                     : 0);
    return static_cast<std::int64_t>(rounds);
  }

  const Sweep& sweep_;
  std::vector<GridTrial> trials_;
  GridRunner runner_;
  std::vector<std::vector<GridRun>> runs_;  // [setting][trial]
  std::vector<std::size_t> alive_;          // settings, ascending
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
                                     ExistingRun existing, const GridHooks& hooks) {
  Stages stages(sweep, folder, existing, hooks);
  if (!stages.run()) return std::nullopt;
  auto result = rank_settings(sweep, stages.runs());
  write_results(sweep, result, folder);
  return result;
}

}  // namespace porter
