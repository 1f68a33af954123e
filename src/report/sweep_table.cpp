// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.hpp"
#include "report/sweep_report.hpp"
#include "report/text.hpp"

namespace porter {
namespace {

struct Beside {
  const char* column;
  const char* title;
  Better better;
};
// What stands beside the metric: loss, utility and accuracy together, because each misleads alone.
constexpr std::array kBeside = {
    Beside{"loss", "loss", Better::lower},
    Beside{"utility", "utility", Better::lower},
    Beside{"test_accuracy", "test acc.", Better::higher},
    Beside{"agent_accuracy_mean", "agents' acc.", Better::higher},
    Beside{"consensus_error", "consensus err.", Better::lower},
    Beside{"epsilon", "epsilon", Better::neither},
};

TableCell number_cell(const std::optional<double>& value) {
  TableCell cell;
  if (value) cell = {.text = format_number(*value), .value = value};
  return cell;
}

std::string seeds_text(const SettingResult& setting) {
  const auto done = std::count_if(setting.runs.begin(), setting.runs.end(),
                                  [](const auto& run) { return run.status == RunEnd::finished; });
  return fmt::format("{}/{}", done, setting.runs.size());
}

void mark_best(Table& table, const SweepResult& result) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const auto better = table.columns[c].better;
    if (better == Better::neither) continue;
    std::optional<double> best;
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      if (const auto value = table.rows[r][c].value;
          value && result.ranked[r].status == RunEnd::finished)
        best = !best                      ? *value
               : better == Better::higher ? std::max(*best, *value)
                                          : std::min(*best, *value);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      table.rows[r][c].best =
          best && table.rows[r][c].value == best && result.ranked[r].status == RunEnd::finished;
  }
}

}  // namespace

std::vector<std::string> short_keys(const std::vector<std::string>& keys) {
  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(key.substr(key.find('.') + 1));
  auto out = names;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1) out[i] = keys[i];
  return out;
}

Table sweep_table(const Sweep& sweep, const SweepResult& result) {
  Table table;
  const std::string metric = sweep.metric.column.name;
  const auto names = short_keys(sweep.keys);
  table.columns.push_back({.key = "rank", .title = "#"});
  for (std::size_t i = 0; i < names.size(); ++i)
    table.columns.push_back({.key = sweep.keys[i], .title = names[i], .is_text = true});
  table.columns.push_back(
      {.key = metric,
       .title = metric + " (mean)",
       .better = sweep.metric.higher_is_better ? Better::higher : Better::lower});
  table.columns.push_back({.key = "stddev", .title = "± seeds"});
  for (const auto& [column, title, better] : kBeside)
    if (metric != column)
      table.columns.push_back({.key = column, .title = title, .better = better});
  table.columns.push_back({.key = "seeds", .title = "seeds", .is_text = true});
  table.columns.push_back({.key = "status", .title = "status", .is_text = true});
  table.columns.push_back({.key = "reason", .title = "reason", .is_text = true});

  for (std::size_t r = 0; r < result.ranked.size(); ++r) {
    const auto& setting = result.ranked[r];
    const bool comparable = setting.status == RunEnd::finished || setting.status == RunEnd::dropped;
    auto& row = table.rows.emplace_back();
    row.push_back({.text = std::to_string(r + 1), .value = static_cast<double>(r + 1)});
    for (const auto& value : sweep.settings[setting.setting].values)
      row.push_back({.text = plain_value(value)});
    row.push_back(number_cell(comparable ? setting.mean : std::nullopt));
    row.push_back(number_cell(comparable ? setting.stddev : std::nullopt));
    for (const auto& beside : kBeside)
      if (metric != beside.column)
        for (const auto& column : metrics_columns())
          if (std::string_view(column.name) == beside.column)
            row.push_back(number_cell(comparable ? setting.mean_of(column) : std::nullopt));
    row.push_back({.text = seeds_text(setting)});
    row.push_back({.text = to_string(setting.status)});
    row.push_back({.text = setting.reason.empty() ? kAbsent : setting.reason});
  }
  mark_best(table, result);
  return table;
}

}  // namespace porter
