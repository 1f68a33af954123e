// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/run_group.hpp"
#include "report/text.hpp"

namespace porter {

enum class Better { neither, lower, higher };

struct TableColumn {
  std::string key;    ///< for machines
  std::string title;  ///< for people
  Better better = Better::neither;
  bool is_text = false;  ///< left-aligned
};
TableColumn text_column(const std::string& key, const std::string& title);
/// Columns of text whose keys are their titles.
std::vector<TableColumn> text_columns(const std::vector<std::string>& keys);

struct TableCell {
  std::string text = "–";            ///< for people
  std::optional<double> value = {};  ///< for machines; text columns have none
  bool best = false;
};
/// The number with four digits, or as `format` has it; the dash where there is none.
TableCell number_cell(const std::optional<double>& value,
                      std::string (*format)(double) = format_number);

/// A table that people and machines read. In what people read, the best cells of a column are
/// marked and columns without any content are left out.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows = {};

  std::string to_text() const;
  std::string to_markdown() const;
  std::string to_html() const;
  std::string to_csv() const;
  /// An array of objects; absent and non-finite values are null.
  std::string to_json() const;

  /// Marks the best cells of every column with a direction, among the rows that count (all, unless
  /// said), and none in a column that does not tell them apart.
  void mark_best(const std::function<bool(std::size_t row)>& counts = {});
  bool has_best() const;
};

/// One row per group with the figures of the last evaluation, of several seeds the mean and, for
/// machines in columns KEY_stddev, the deviation. Runs that diverged are never best.
Table compare_runs(std::span<const RunGroup> groups);

/// What a reader must know beside the table, a sentence each: runs that did not finish, the
/// majority class, utility and loss that disagree, figures that cannot be held against each other.
std::vector<std::string> compare_notes(std::span<const RunGroup> groups);

/// Which figures the table has, in a sentence or two.
std::string how_to_read(std::span<const RunGroup> groups);

/// The table over the runs, as text or as Markdown, then the notes and what each says about
/// privacy.
std::string comparison_text(std::span<const RunGroup> groups, bool markdown);

/// The runs that say the same about privacy.
struct PrivacyGroup {
  std::string text;
  std::vector<std::string> runs;
  bool guaranteed = false;

  /// The runs, of many the first ones; `all`: how many rows the table has.
  std::string names(std::size_t all) const;
};

/// In order of first appearance.
std::vector<PrivacyGroup> privacy_groups(std::span<const RunGroup> groups);

}  // namespace porter
