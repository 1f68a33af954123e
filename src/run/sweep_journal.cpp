// SPDX-License-Identifier: Apache-2.0
#include "sweep_journal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "difference.hpp"
#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/io/file.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlanFile = "sweep.toml";
constexpr const char* kJournalFile = "journal.csv";

std::string header() {
  std::string line = "setting,seed,status";
  for (const auto& column : repeatable_columns()) line += ',' + std::string(column.name);
  return line + ",reason\n";
}

std::string line_of(const SweepRun& run) {
  std::string reason = run.reason;
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return concat(run.setting, ',', run.seed, ',', to_string(run.status), ',',
                repeatable_cells(run.row), ',', reason, '\n');
}

// The text up to the next comma, which is taken off.
std::optional<std::string_view> next_cell(std::string_view& line) {
  const auto comma = line.find(',');
  if (comma == line.npos) return std::nullopt;
  const auto cell = line.substr(0, comma);
  line.remove_prefix(comma + 1);
  return cell;
}

std::optional<SweepStatus> parse_status(std::string_view text) {
  for (const auto status :
       {SweepStatus::paused, SweepStatus::finished, SweepStatus::diverged, SweepStatus::failed})
    if (text == to_string(status)) return status;
  return std::nullopt;
}

bool is_round(double value) {
  return value >= 0 && value <= std::numeric_limits<std::uint32_t>::max() &&
         value == std::floor(value);
}

}  // namespace

std::optional<SweepRun> parse_journal_line(std::string_view line) {
  std::array<std::string_view, 3> head;
  for (auto& cell : head) {
    const auto next = next_cell(line);
    if (!next) return std::nullopt;
    cell = *next;
  }
  const auto setting = parse_number<std::size_t>(head[0]);
  const auto seed = parse_number<std::uint64_t>(head[1]);
  const auto status = parse_status(head[2]);
  if (!setting || !seed || !status) return std::nullopt;
  SweepRun run{.setting = *setting, .seed = *seed, .status = *status};
  MetricsRow row;
  bool any = false;
  for (const auto& column : repeatable_columns()) {
    const auto cell = next_cell(line);
    if (!cell) return std::nullopt;
    const auto value = parse_number<double>(*cell);
    if (!cell->empty() && !value) return std::nullopt;
    if (value && std::string_view(column.name) == "round" && !is_round(*value)) return std::nullopt;
    column.set(row, value);
    any = any || value;
  }
  if (any) run.row = row;
  if ((*status == SweepStatus::paused || *status == SweepStatus::finished) && !any)
    return std::nullopt;
  run.reason = line;
  return run;
}

namespace {

// What may be done in this folder, before anything is touched.
void check_folder(const fs::path& folder, const Sweep& sweep, ExistingRun existing) {
  const bool holds_sweep = fs::exists(folder / kPlanFile);
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
          folder.string(),
          " holds a sweep already; use --resume to continue it, --force to replace it, ",
          "or another --out");
}

// The folder with its plan, so that what is killed from here on can be resumed.
fs::path journal_in(const fs::path& folder, const Sweep& sweep, ExistingRun existing) {
  check_folder(folder, sweep, existing);
  make_folder(folder);
  if (!fs::exists(folder / kPlanFile)) write_file(folder / kPlanFile, sweep.toml);
  return folder / kJournalFile;
}

}  // namespace

std::vector<MetricsColumn> repeatable_columns() {
  auto columns = metrics_columns();
  std::erase_if(columns,
                [](const auto& column) { return std::string_view(column.name) == "seconds"; });
  return columns;
}

std::string repeatable_cells(const std::optional<MetricsRow>& row) {
  std::string out;
  bool first = true;
  for (const auto& column : repeatable_columns()) {
    if (!first) out += ',';
    first = false;
    const auto value = row ? column.get(*row) : std::nullopt;
    if (!value) continue;
    auto text = shortest(*value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    out += text;
  }
  return out;
}

SweepJournal::SweepJournal(const fs::path& folder, const Sweep& sweep, ExistingRun existing)
    : log_(journal_in(folder, sweep, existing), "porter sweep") {
  if (existing == ExistingRun::replace) empty(folder, sweep);
  load(sweep);
}

// Begins anew: first the journal, which is ours by now, and the plan last, so that at any time the
// folder holds a sweep that can be resumed.
void SweepJournal::empty(const fs::path& folder, const Sweep& sweep) {
  log_.clear();
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != kPlanFile && entry.path().filename() != kJournalFile)
      fs::remove_all(entry.path());
  write_file(folder / kPlanFile, sweep.toml);
}

void SweepJournal::load(const Sweep& sweep) {
  const auto text = log_.read();
  if (text.empty()) return log_.append(header());
  std::string_view rest(text);
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    if (number == 1) {
      require(concat(line, '\n') == header(), ErrorKind::io, log_.file().string(),
              ", line 1: not the journal of a sweep of this version");
      continue;
    }
    const auto run = parse_journal_line(line);
    require(run && run->setting < sweep.settings.size() &&
                std::count(sweep.seeds.begin(), sweep.seeds.end(), run->seed) == 1,
            ErrorKind::io, log_.file().string(), ", line ", number, ": not a run of this sweep: \"",
            line, "\"");
    if (run->status != SweepStatus::failed) remember(*run);
  }
}

void SweepJournal::remember(const SweepRun& run) {
  const bool paused = run.status == SweepStatus::paused;
  runs_[{run.setting, run.seed, paused ? run.row->round : kEnd}] = run;
}

const SweepRun* SweepJournal::find(std::size_t setting, std::uint64_t seed,
                                   std::uint32_t round) const {
  for (const auto at : {round, kEnd})
    if (const auto found = runs_.find({setting, seed, at}); found != runs_.end())
      return &found->second;
  return nullptr;
}

void SweepJournal::append(const SweepRun& run) {
  log_.append(line_of(run));
  remember(run);
}

}  // namespace porter
