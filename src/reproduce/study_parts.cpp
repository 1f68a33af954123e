// SPDX-License-Identifier: Apache-2.0
#include "study_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

namespace porter {
namespace {

// The columns of the table: what is plotted, then what the average hides and what it cost.
std::vector<std::string> table_columns(const Study& study) {
  auto columns = study.metrics;
  for (const char* more : {"agent_accuracy_mean", "agent_accuracy_worst", "consensus_error",
                           "bits_per_agent", "epsilon"})
    if (std::find(columns.begin(), columns.end(), more) == columns.end()) columns.push_back(more);
  return columns;
}

// What an agent sends: the same for all seeds, but for headers that count in bits.
struct SentColumn {
  const char* figure;
  std::string (*format)(double);
};
constexpr SentColumn kSentColumns[] = {
    {"values_sent", format_si},
    {"values_per_gradient", [](double value) { return fmt::format("{:.2f}", value); }}};

TableCell sent_cell(const Study& study, const GridResult& result, std::size_t setting,
                    const SentColumn& column) {
  const auto runs = finished_runs(result, setting);
  if (runs.empty()) return {};
  return number_cell(run_figure(column.figure, *study.settings[setting].config, *runs.front()),
                     column.format);
}

}  // namespace

std::vector<const GridRun*> finished_runs(const GridResult& result, std::size_t setting) {
  std::vector<const GridRun*> out;
  for (std::size_t seed = 0; seed < result.seeds; ++seed)
    if (const auto& run = result.run(setting, seed); run.finished()) out.push_back(&run);
  return out;
}

std::optional<Spread> last_spread(const GridResult& result, std::size_t setting,
                                  const std::string& column) {
  std::vector<double> values;
  for (const auto* run : finished_runs(result, setting))
    if (const auto value = find_column(column).get(run->rows.back())) values.push_back(*value);
  return spread_of(values);
}

TableCell spread_cell(const GridResult& result, std::size_t setting, const std::string& column) {
  const auto finished = finished_runs(result, setting).size();
  if (finished == 0) return {.text = to_string(result.run(setting, 0).status)};
  const auto spread = last_spread(result, setting, column);
  if (!spread) return {};
  auto text = spread->text();
  if (finished < result.seeds) text += fmt::format(" ({} of {})", finished, result.seeds);
  return {.text = text, .value = spread->mean};
}

ReportTable summary_table(const Study& study, const GridResult& result) {
  Table table{text_columns({"series"})};
  for (const auto& column : table_columns(study))
    table.columns.push_back({column, figure_title(column), better_direction(column)});
  table.columns.push_back({"sigma", "noise σ"});
  for (const auto& sent : kSentColumns)
    table.columns.push_back({sent.figure, figure_title(sent.figure)});
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    auto& row = table.rows.emplace_back();
    row.push_back({.text = study.series_of(s).label});
    for (const auto& column : table_columns(study)) row.push_back(spread_cell(result, s, column));
    const auto& facts = result.run(s, 0).facts;
    row.push_back(number_cell(facts ? std::optional(facts->sigma) : std::nullopt));
    for (const auto& sent : kSentColumns) row.push_back(sent_cell(study, result, s, sent));
  }
  table.mark_best();
  return {.file = "summary",
          .title = "At the last round",
          .table = std::move(table),
          .notes = {"Mean ± standard deviation over seeds, at the average model unless agents are "
                    "named. Marked: the best of a column. Epsilon is what the accountant "
                    "certifies for the noise that was used. Values sent: by an agent (to a "
                    "server: up) in all, bits / 32 d; per gradient, bits / 32 T d."}};
}

bool is_accuracy(const std::string& column) {
  return column.find("accuracy") != column.npos || column.find("_r2") != column.npos;
}

Better better_direction(const std::string& column) {
  if (is_accuracy(column)) return Better::higher;
  for (const char* cost : {"loss", "utility", "grad_norm", "rmse"})
    if (column.find(cost) != column.npos) return Better::lower;
  return Better::neither;
}

std::vector<ReferenceLine> majority_lines(const GridResult& result, const std::string& column) {
  std::set<double> rates;
  if (is_accuracy(column))
    for (const auto& run : result.runs)
      if (run.facts && run.facts->majority_rate) rates.insert(*run.facts->majority_rate);
  return majority_lines(rates);
}

std::string seeds_help(const GridResult& result, const char* spread) {
  if (result.seeds == 1) return "One seed.";
  return fmt::format("Mean over {} seeds; {}: least to largest.", result.seeds, spread);
}

std::string file_name(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && std::isalnum(byte))
      out += static_cast<char>(std::tolower(byte));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "unnamed" : out;
}

}  // namespace porter
