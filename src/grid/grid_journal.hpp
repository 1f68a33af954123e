// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grid/grid.hpp"
#include "io/append_file.hpp"

namespace porter {

/// Names what a run computes: everything in its config but how it is carried out. Files count with
/// their folders, as a grid may vary them.
std::string run_key(const Config& config);

/// Runs on disk, each known by its key: journal.jsonl, a line of JSON each. One process at a time
/// may hold it.
class GridJournal {
 public:
  static constexpr const char* kFile = "journal.jsonl";

  /// Creates the folder and the journal, or reads the one that is there. Half a line at the end,
  /// from a kill, is dropped; runs that failed are forgotten, so that they are tried again. `who`
  /// is the command that holds it.
  GridJournal(const std::filesystem::path& folder, std::string_view who);

  /// Of another version of porter: nothing has been read or changed.
  bool foreign() const { return foreign_; }
  /// Begins anew.
  void clear();

  /// What is known of a run that was to go to `round`: where it paused there, or how it ended
  /// before. nullptr if it is not known.
  const GridRun* find(const std::string& key, std::uint32_t round) const;
  /// On disk when this returns.
  void append(const std::string& key, const GridRun& run);
  std::size_t size() const { return runs_.size(); }

 private:
  void remember(const std::string& key, GridRun run);
  void load(std::string_view lines);

  AppendFile log_;
  bool foreign_ = false;
  std::map<std::pair<std::string, std::uint32_t>, GridRun> runs_;  // the round of an end is kEnd
};

/// What a folder's journal holds, in its order, also while another process writes it. Error{io} if
/// it is another version's or damaged.
std::vector<std::pair<std::string, GridRun>> read_journal(const std::filesystem::path& folder);

/// A line of the journal without its end: the key and the run, whose setting is not known here.
/// Nothing if it is not one of ours.
std::optional<std::pair<std::string, GridRun>> parse_journal_line(std::string_view line);
std::string journal_line(const std::string& key, const GridRun& run);

}  // namespace porter
