// SPDX-License-Identifier: Apache-2.0
// What the reports of studies share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "porter/train/metrics.hpp"
#include "report/spread.hpp"
#include "report/table.hpp"
#include "reproduce/report.hpp"

namespace porter {

/// The column of metrics.csv, or Error{usage} listing them.
const MetricsColumn& find_column(const std::string& name);

/// A figure of a whole run, by name:
///   rounds         T
///   rho            of the compressor
///   gap            1 - alpha of the graph that was drawn
///   phi            sqrt(d log(1/delta)) / (m epsilon), with the config's epsilon and delta
///   min_grad_norm  the least |grad f(x)| of the evaluated rounds
///   values_sent    by an agent in all, bits / 32 d
///   values_per_gradient  the same of one round, bits / 32 T d
///   section.key    a number of the config, or the number behind the colon of "name:0.05"
///   a column       of the last row of metrics.csv
/// Nothing where the run has no such figure.
std::optional<double> run_figure(const std::string& name, const Config& config, const GridRun& run);

/// Error{usage} if no run can have such a figure. A key is only known where it is `vary`.
void check_figure(const std::string& name, const std::string& vary);

/// As a head of a table says it, as an axis does, and with a capital letter.
std::string figure_title(const std::string& name);
std::string axis_title(const std::string& name);
std::string plot_title(const std::string& text);

/// The number that a config value such as 0.5 or "random_k:0.05" holds.
std::optional<double> value_number(const std::string& value);

/// The runs of a setting that count: those that finished.
std::vector<const GridRun*> finished_runs(const GridResult& result, std::size_t setting);

/// A column of the last rows of the finished runs; nothing if none has it.
std::optional<Spread> last_spread(const GridResult& result, std::size_t setting,
                                  const std::string& column);

/// mean ± sd, or why there is none: "diverged", "failed". Says how many runs count if not all.
TableCell spread_cell(const GridResult& result, std::size_t setting, const std::string& column);

/// Settings down; the metrics of the study, what the average hides and what it cost across.
ReportTable summary_table(const Study& study, const GridResult& result);

/// Or R2: 1 is best, and no logarithm makes sense.
bool is_accuracy(const std::string& column);
Better better_direction(const std::string& column);

/// A majority class for plots of accuracies: every rate that occurs.
std::vector<ReferenceLine> majority_lines(const GridResult& result, const std::string& column);

/// How a line or a bar over seeds is to be read.
std::string seeds_help(const GridResult& result, const char* spread);

/// Small letters, digits and dashes.
std::string file_name(const std::string& text);

// One kind of study each: its tables, its figures and the headline.
void add_curves(const Study& study, const GridResult& result, StudyReport& report);
void add_slope(const Study& study, const GridResult& result, StudyReport& report);
void add_bars(const Study& study, const GridResult& result, StudyReport& report);

}  // namespace porter
