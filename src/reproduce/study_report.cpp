// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "porter/core/error.hpp"
#include "porter/version.hpp"
#include "report/text.hpp"
#include "study_parts.hpp"

namespace porter {
namespace {

void add_warnings(const Study& study, const GridResult& result, StudyReport& report) {
  std::set<std::string> missing;
  for (const auto& setting : study.settings)
    if (setting.config && !setting.missing_data.empty()) missing.insert(setting.missing_data);
  if (!missing.empty()) {
    const std::vector<std::string> names(missing.begin(), missing.end());
    report.warnings.push_back(
        concat("Built-in data: ", listing(names), " was not found, so these figures are of ",
               "made-up data of the same shape and say nothing about the real one. To have it: ",
               "porter data fetch ", names.front(), ", or set PORTER_DATA."));
  }
  if (study.quick)
    report.warnings.push_back(
        "Quick: fewer rounds, seeds or points than the experiment asks for. It shows that "
        "everything works; its figures mean little.");
  std::size_t bad = 0;
  for (const auto& run : result.runs) bad += !run.finished();
  if (bad > 0)
    report.warnings.push_back(concat(bad, " of ", result.runs.size(),
                                     " runs did not finish; the last table says why. Means are "
                                     "over the others."));
}

// Seeds that ended alike share a row.
void add_failures(const Study& study, const GridResult& result, StudyReport& report) {
  Table table{text_columns({"setting", "seeds", "status", "reason"})};
  const GridRun* before = nullptr;
  for (const auto& run : result.runs) {
    if (run.finished()) continue;
    const bool alike = before != nullptr && before->setting == run.setting &&
                       before->status == run.status && before->reason == run.reason;
    if (alike)
      table.rows.back()[1].text += concat(", ", run.seed);
    else
      table.rows.push_back({{.text = study.settings[run.setting].name},
                            {.text = std::to_string(run.seed)},
                            {.text = to_string(run.status)},
                            {.text = run.reason}});
    before = &run;
  }
  if (!table.rows.empty())
    report.tables.push_back(
        {.file = "unfinished", .title = "Runs that did not finish", .table = std::move(table)});
}

// Every run with all figures of its last row, for those who want to compute further.
Table runs_table(const Study& study, const GridResult& result) {
  Table table{text_columns({"series", "value", "seed", "status", "reason"})};
  table.columns[2].is_text = false;
  for (const auto& column : metrics_columns()) table.columns.push_back({column.name, column.name});
  for (const auto& run : result.runs) {
    auto& row = table.rows.emplace_back();
    row = {{.text = study.series_of(run.setting).label},
           {.text = study.values[study.value_of(run.setting)]},
           {.text = std::to_string(run.seed), .value = double(run.seed)},
           {.text = to_string(run.status)},
           {.text = run.reason}};
    for (const auto& column : metrics_columns()) row.push_back(number_cell(run.last(column)));
  }
  return table;
}

void add_configs(const Study& study, const GridResult& result, StudyReport& report) {
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    const auto& setting = study.settings[s];
    const auto& name = setting.name;
    std::string note;
    if (!setting.config) note = "refused: " + setting.refused;
    if (const auto& facts = result.run(s, 0).facts) note = facts->data + ". " + facts->privacy;
    if (const auto& tuned = study.series_of(s).tuned; !tuned.empty())
      note += concat(note.empty() ? "" : " ", "Steps found by porter sweep ", tuned, ".");
    report.configs.push_back({.file = file_name(name),
                              .label = name,
                              .toml = setting.config ? to_toml(*setting.config) : "",
                              .note = note});
  }
}

}  // namespace

StudyReport study_report(const Study& study, const GridResult& result, const std::string& command) {
  StudyReport report{
      .name = study.name, .title = study.title, .about = study.about, .command = command};
  report.meta =
      concat(study.settings.size(), study.settings.size() == 1 ? " setting, " : " settings, ",
             study.seeds.size() == 1 ? "seed " : "seeds 1 to ", study.seeds.size(), " · porter ",
             kVersion);
  add_warnings(study, result, report);
  if (study.kind == StudyKind::curves)
    add_curves(study, result, report);
  else if (study.kind == StudyKind::slope)
    add_slope(study, result, report);
  else
    add_bars(study, result, report);
  add_failures(study, result, report);
  report.runs = runs_table(study, result).to_csv();
  add_configs(study, result, report);
  report.source = study.text;
  return report;
}

}  // namespace porter
