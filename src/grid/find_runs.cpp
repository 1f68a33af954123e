// SPDX-License-Identifier: Apache-2.0
#include "grid/find_runs.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "core/text.hpp"
#include "grid_traces.hpp"
#include "porter/core/error.hpp"
#include "train/measure.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 12;
constexpr std::size_t kMostFolders = 100'000;
// What porter keeps beside and inside runs.
constexpr std::array<std::string_view, 7> kOwnFolders = {
    "checkpoint", "checkpoints", "ledger", "keys", "figures", "tables", "configs"};

std::string plural(std::size_t count, const char* what) {
  return concat(count, ' ', what, count == 1 ? "" : "s");
}

bool has(const fs::path& folder, const char* file) {
  std::error_code ignored;
  return fs::exists(folder / file, ignored);
}

// Reads what lies in and below one folder that was given.
class Search {
 public:
  Search(fs::path root, FoundRuns& out) : root_(std::move(root)), out_(out) {}

  /// The root's own errors are the caller's; those below are reasons to skip.
  void look() {
    const auto before = out_.traces.size();
    if (is_run_folder(root_) || is_grid_folder(root_))
      read(root_);
    else if (auto state = load_agent_state(root_))
      out_.under_way.push_back(std::move(*state));
    else
      descend(root_, 0);
    const auto direct = out_.traces.size() - before - in_grids_;
    if (direct > 0)
      out_.found.insert(out_.found.begin() + static_cast<std::ptrdiff_t>(listed_),
                        concat(root_.string(), ": ", plural(direct, "run")));
  }
  void list_from(std::size_t listed) { listed_ = listed; }

  /// Where the traces were found, below the root.
  const std::vector<std::string>& places() const { return places_; }

 private:
  void read(const fs::path& folder) {
    if (!is_run_folder(folder)) return read_grid(folder);
    add(load_trace(folder), folder);
    if (has(folder, "agents"))
      out_.skipped.push_back(concat((folder / "agents").string(),
                                    ": the agents of a cluster whose results are shown; name this "
                                    "folder to see each"));
    else
      descend(folder, 0);  // runs that somebody put there
  }

  void read_grid(const fs::path& folder) {
    auto grid = load_grid_traces(folder);
    out_.found.push_back(
        concat(folder.string(), ": ", plural(grid.traces.size(), "run"), " of ", grid.what));
    for (const auto& text : grid.left_out)
      out_.skipped.push_back(concat(folder.string(), ": ", text));
    in_grids_ += grid.traces.size();
    for (auto& trace : grid.traces) add(std::move(trace), folder);
  }

  void add(Trace trace, const fs::path& folder) {
    const auto below = folder.lexically_relative(root_).string();
    places_.push_back(below == "." || below.empty() ? "" : without_controls(below));
    out_.traces.push_back(std::move(trace));
  }

  void descend(const fs::path& folder, int depth) {
    std::vector<fs::path> inside;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (it->is_directory(error) && !it->is_symlink(error)) inside.push_back(it->path());
    require(!error, ErrorKind::io, "cannot read the folder ", folder.string(), ": ",
            error.message());
    std::sort(inside.begin(), inside.end());
    for (const auto& path : inside) {
      const auto name = path.filename().string();
      if (name.starts_with('.') || path.extension() == kMeasuredExtension ||
          std::ranges::find(kOwnFolders, name) != kOwnFolders.end())
        continue;
      require(++folders_ <= kMostFolders, ErrorKind::io, root_.string(), ": holds more than ",
              kMostFolders, " folders; name those with runs");
      try {
        visit(path, depth + 1);
      } catch (const std::exception& problem) {  // of the file system, too
        out_.skipped.push_back(concat(path.string(), ": ", problem.what()));
      }
    }
  }

  void visit(const fs::path& folder, int depth) {
    if (is_run_folder(folder) || is_grid_folder(folder)) return read(folder);
    if (auto state = load_agent_state(folder)) {
      out_.under_way.push_back(std::move(*state));
    } else if (has(folder, "config.toml")) {
      out_.skipped.push_back(concat(folder.string(), ": a run that has no metrics.csv"));
    } else if (depth >= kDeepest) {
      out_.skipped.push_back(concat(folder.string(), ": too deep, nothing below is looked at"));
    } else {
      descend(folder, depth);
    }
  }

  fs::path root_;
  FoundRuns& out_;
  std::vector<std::string> places_;
  std::size_t in_grids_ = 0, folders_ = 0, listed_ = 0;
};

void require_folder(const fs::path& folder) {
  std::error_code error;
  const auto type = fs::status(folder, error).type();
  require(type != fs::file_type::not_found, ErrorKind::io, folder.string(), ": no such folder");
  require(!error, ErrorKind::io, folder.string(), ": ", error.message());
  require(type == fs::file_type::directory, ErrorKind::io, folder.string(),
          ": expected a run folder, found a file");
}

// Names that occur twice become places below what was given, and where these are alike, too, the
// whole path is added.
void tell_apart(std::vector<Trace>& traces, const std::vector<std::string>& places) {
  const auto counted = [&] {
    std::map<std::string, int> uses;
    for (const auto& trace : traces) ++uses[trace.name];
    return uses;
  };
  const auto names = counted();
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (names.at(traces[i].name) == 1 || places[i].empty()) continue;
    auto &name = traces[i].name, &setting = traces[i].setting;
    name = setting.empty() ? places[i] : places[i] + ": " + name;
    if (!setting.empty()) setting = places[i] + ": " + setting;
  }
  const auto left = counted();
  for (auto& trace : traces)
    if (left.at(trace.name) > 1) trace.name += " (" + without_controls(trace.folder.string()) + ")";
}

}  // namespace

FoundRuns find_runs(std::span<const fs::path> folders, bool may_be_empty) {
  FoundRuns out;
  std::vector<std::string> places;
  for (const auto& given : folders) {
    require_folder(given);
    const auto folder = given.has_filename() ? given : given.parent_path();
    const auto runs = out.traces.size(), reasons = skipped_runs(out).size();
    Search search(folder, out);
    search.list_from(out.found.size());
    search.look();
    places.insert(places.end(), search.places().begin(), search.places().end());
    if (out.traces.size() > runs || may_be_empty) continue;
    const auto skipped = skipped_runs(out);
    fail(ErrorKind::io, folder.string(),
         ": not a run folder (it has no metrics.csv), and there is none inside it",
         skipped.size() > reasons ? concat("; ", skipped[reasons]) : "");
  }
  tell_apart(out.traces, places);
  return out;
}

std::vector<std::string> skipped_runs(const FoundRuns& runs) {
  auto all = runs.skipped;
  for (const auto& agent : runs.under_way)
    all.push_back(
        concat(agent.folder.string(), ": an agent that has no results yet (", agent.text(), ")"));
  return all;
}

std::vector<std::string> source_lines(const FoundRuns& runs, bool with_agents) {
  std::vector<std::string> lines;
  for (const auto& text : runs.found) lines.push_back("Read " + text + '.');
  for (const auto& text : with_agents ? skipped_runs(runs) : runs.skipped)
    lines.push_back("Skipped " + text + '.');
  return lines;
}

}  // namespace porter
