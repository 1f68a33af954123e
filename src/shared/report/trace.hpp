// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "porter/privacy/statement.hpp"

namespace porter {

/// The content of metrics.csv, by column. A cell that is empty in the file (no test set, no
/// epsilon) is nullopt; "nan" and "inf" are values, because a run that diverged writes them.
struct Metrics {
  using Column = std::vector<std::optional<double>>;
  std::vector<std::string> names;  ///< as in the header line
  std::vector<Column> columns;     ///< one per name, all of the same length

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  /// nullptr when there is no such column.
  const Column* find(std::string_view name) const;
};

/// Reads a header line and rows of numbers. Strict: every row has one cell per name, every line
/// ends, `round` is there and grows. Error{io} names `name` and the line.
Metrics parse_metrics(std::string_view text, const std::string& name);

/// A run folder, read into memory. Only metrics.csv must be there.
struct Trace {
  std::filesystem::path folder;
  std::string name;    ///< "name" of summary.json, else the folder's own
  std::string status;  ///< finished | diverged | interrupted; "unfinished" without summary.json
  PrivacyStatement privacy;                  ///< no guarantee and no sentence: the run does not say
  std::map<std::string, std::string> facts;  ///< text and numbers of summary.json; null is left out
  Metrics metrics;
  std::string config;     ///< config.toml as it is; empty if absent
  std::string graph_svg;  ///< graph.svg as it is, not to be trusted; empty if absent
  bool agent = false;     ///< the folder of one agent of a networked run
  // Of a run that a grid's journal holds:
  std::string setting = {};     ///< the name without the seed; with the fold, if it has one
  std::string repeat = {};      ///< what to give to porter run instead of the folder's config
  std::size_t evaluations = 0;  ///< there were so many; 0: one per row of the metrics

  bool diverged() const { return status == "diverged"; }
  /// The fact `key` as a number, if it is there and is one.
  std::optional<double> number(const std::string& key) const;
  /// Whether the fact `key`, a step, was "auto" and worked out for this run.
  bool is_auto(std::string_view key) const;
  /// The cell of `column` in the last row, if there is one.
  std::optional<double> last(std::string_view column) const;
  /// Whether `utility`, a mean over all rounds that is interpolated between evaluations, can be
  /// held against that of other runs: every round was evaluated, or at least
  /// kEvaluationsForUtility of those between the first and the last.
  bool has_utility() const;
};
inline constexpr std::size_t kEvaluationsForUtility = 10;

/// A run without summary.json may be under way: half a line at the end of its metrics is left out.
Trace load_trace(const std::filesystem::path& folder);

/// Whether load_trace would find metrics there.
bool is_run_folder(const std::filesystem::path& folder);

}  // namespace porter
