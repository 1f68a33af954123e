// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <tuple>

#include "locked_log.hpp"
#include "porter/run/run_folder.hpp"
#include "porter/run/sweep.hpp"

namespace porter {

/// What a sweep has found out, on disk. One process at a time may hold it.
class SweepJournal {
 public:
  /// Creates the folder with sweep.toml and an empty journal, or reads the one that is there. Half
  /// a line at the end, from a kill, is dropped; runs that failed are forgotten, so that they are
  /// tried again.
  SweepJournal(const std::filesystem::path& folder, const Sweep& sweep, ExistingRun existing);

  /// What is known of a run that was to go to `round`: where it paused there, or how it ended
  /// before.
  const SweepRun* find(std::size_t setting, std::uint64_t seed, std::uint32_t round) const;
  /// On disk when this returns.
  void append(const SweepRun& run);

 private:
  using Key = std::tuple<std::size_t, std::uint64_t, std::uint32_t>;
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  void remember(const SweepRun& run);
  void empty(const std::filesystem::path& folder, const Sweep& sweep);
  void load(const Sweep& sweep);

  LockedLog log_;
  std::map<Key, SweepRun> runs_;  // the round of those that ended is kEnd
};

/// A line of the journal without its end. Nothing if it is not one of ours. The reason is what
/// stands behind the last metric.
std::optional<SweepRun> parse_journal_line(std::string_view line);

/// The columns of the metrics that are the same whenever a run is repeated: all but seconds.
std::vector<MetricsColumn> repeatable_columns();
/// Their cells for a row, commas between; nothing but commas without a row.
std::string repeatable_cells(const std::optional<MetricsRow>& row);

}  // namespace porter
