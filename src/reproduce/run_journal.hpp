// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "porter/reproduce/study_run.hpp"
#include "run/locked_log.hpp"

namespace porter {

/// Runs on disk, each known by its resolved config. One process at a time may hold it.
class RunJournal {
 public:
  /// Creates the folder and the journal, or reads the one that is there. Half a line at the end,
  /// from a kill, is dropped. A journal of another version of
  /// porter is begun anew: it may compute other numbers from the same config.
  RunJournal(const std::filesystem::path& folder, bool forget);

  /// Names a config for ever: threads and checkpoints do not count.
  static std::string key_of(Config config, std::uint64_t seed);

  /// nullptr if the run is not known.
  const StudyRun* find(const std::string& key) const;
  /// On disk when this returns.
  void append(const std::string& key, const StudyRun& run);
  std::size_t size() const { return runs_.size(); }

 private:
  void load();

  LockedLog log_;
  std::map<std::string, StudyRun> runs_;
};

/// A line of the journal without its end: the key and the run, whose setting is not known here.
/// Nothing if it is not one of ours.
struct JournalEntry {
  std::string key;
  StudyRun run;
};
std::optional<JournalEntry> parse_journal_entry(std::string_view line);
std::string journal_line(const std::string& key, const StudyRun& run);

}  // namespace porter
