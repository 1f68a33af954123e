// SPDX-License-Identifier: Apache-2.0
#include "sweep_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
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

void prepare_folder(const fs::path& folder, const Sweep& sweep, ExistingRun existing) {
  const bool holds_sweep = fs::exists(folder / kPlanFile);
  require(!fs::exists(folder) || fs::is_directory(folder), ErrorKind::usage, "the output ",
          folder.string(), " exists and is not a folder");
  require(holds_sweep || !fs::exists(folder) || holds_nothing(folder), ErrorKind::usage,
          "the output folder ", folder.string(), " holds other files and no sweep; choose another");
  if (existing == ExistingRun::resume) {
    require(holds_sweep, ErrorKind::usage, "cannot resume: ", folder.string(), " holds no sweep");
    const auto difference = first_difference(read_file(folder / kPlanFile), sweep.toml);
    require(difference.empty(), ErrorKind::usage, "cannot resume: ", folder.string(),
            " was made with another sweep (", difference, ")");
    if (!fs::exists(folder / kJournalFile)) write_file(folder / kJournalFile, header());
    return;
  }
  require(!holds_sweep || existing == ExistingRun::replace, ErrorKind::usage, "the output folder ",
          folder.string(),
          " holds a sweep already; use --resume to continue it, --force to replace it, ",
          "or another --out");
  if (holds_sweep) fs::remove_all(folder);
  make_folder(folder);
  write_file(folder / kPlanFile, sweep.toml);  // first: a folder with it can be resumed
  write_file(folder / kJournalFile, header());
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
    : file_(folder / kJournalFile) {
  prepare_folder(folder, sweep, existing);
  open();
  if (existing == ExistingRun::resume) load(sweep);
}

SweepJournal::~SweepJournal() {
  if (fd_ >= 0) ::close(fd_);
}

void SweepJournal::open() {
  fd_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  require(fd_ >= 0, ErrorKind::io, "cannot open ", file_.string(), ": ", std::strerror(errno));
  require(::flock(fd_, LOCK_EX | LOCK_NB) == 0, ErrorKind::io, file_.string(),
          ": another porter sweep is working in this folder");
}

void SweepJournal::load(const Sweep& sweep) {
  const auto text = read_file(file_);
  const auto whole = text.rfind('\n') + 1;  // what follows is half a line
  if (whole < text.size())
    require(::ftruncate(fd_, static_cast<off_t>(whole)) == 0, ErrorKind::io, "cannot shorten ",
            file_.string(), ": ", std::strerror(errno));
  if (whole == 0) return append_text(header());
  std::string_view rest(text.data(), whole);
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    if (number == 1) {
      require(concat(line, '\n') == header(), ErrorKind::io, file_.string(),
              ", line 1: not the journal of a sweep of this version");
      continue;
    }
    const auto run = parse_journal_line(line);
    require(run && run->setting < sweep.settings.size() &&
                std::count(sweep.seeds.begin(), sweep.seeds.end(), run->seed) == 1,
            ErrorKind::io, file_.string(), ", line ", number, ": not a run of this sweep: \"", line,
            "\"");
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
  append_text(line_of(run));
  remember(run);
}

void SweepJournal::append_text(const std::string& text) {
  const auto written = ::write(fd_, text.data(), text.size());
  require(written == static_cast<ssize_t>(text.size()) && ::fsync(fd_) == 0, ErrorKind::io,
          "cannot write ", file_.string(), ": ", std::strerror(errno));
}

}  // namespace porter
