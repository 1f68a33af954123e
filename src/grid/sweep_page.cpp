// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "grid/sweep_report.hpp"
#include "porter/version.hpp"
#include "report/page.hpp"
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

std::string seeds_text(const SettingResult& setting) {
  const auto done = std::ranges::count(setting.runs, RunEnd::finished, &GridRun::status);
  return fmt::format("{}/{}", done, setting.runs.size());
}

std::string best_section(const Sweep& sweep, const SweepResult& result, const std::string& folder) {
  const auto* best = result.best();
  if (best == nullptr)
    return page_section("best", "Best setting",
                        "<p>No setting finished; the table says why.</p>\n");
  std::string values;
  const auto add = [&](const std::string& name, const std::string& text) {
    values +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(text));
  };
  for (std::size_t i = 0; i < sweep.keys.size(); ++i)
    add(sweep.keys[i], plain_value(sweep.settings[best->setting].values[i]));
  add(sweep.metric.column.name,
      format_number(*best->mean) +
          (best->stddev ? " ± " + fmt::format("{:.2g}", *best->stddev) : ""));
  return page_section(
      "best", "Best setting",
      fmt::format("<article>\n<dl>\n{}</dl>\n<p>Train it:</p>\n<pre><code>porter run {}</code>"
                  "</pre>\n</article>\n",
                  values, escape_html(shell_word(folder + "/best.toml"))));
}

std::string notes_section(const Sweep& sweep, const SweepResult& result) {
  const auto notes = sweep_notes(sweep, result);
  std::string body = fmt::format(
      "<div class=\"privacy doubtful\"><strong>Not covered by epsilon</strong><p>{}</p></div>\n",
      escape_html(notes.front()));
  if (notes.size() > 1) {
    body += "<ul class=\"notes\">\n";
    for (std::size_t i = 1; i < notes.size(); ++i)
      body += fmt::format("<li>{}</li>\n", escape_html(notes[i]));
    body += "</ul>\n";
  }
  return page_section("notes", "What to know", body);
}

std::string plots_section(const Sweep& sweep, const SweepResult& result) {
  std::string body;
  for (const auto& map : sweep_heat_maps(sweep, result)) body += heat_map_html(map);
  const auto plots = sweep_key_plots(sweep, result);
  for (std::size_t i = 0; i < plots.size(); ++i)
    body += figure_html(plots[i], fmt::format("plot{}", i + 1));
  if (body.empty()) return "";
  return page_section("plots", "Where the good settings are",
                      "<div class=\"plots\">\n" + body + "</div>\n");
}

std::string table_section(const Sweep& sweep, const SweepResult& result) {
  return page_section(
      "settings", "Settings",
      "<div class=\"scroll\">\n" + sweep_table(sweep, result).to_html() +
          "</div>\n<ul class=\"notes\"><li>Means over seeds of the last evaluation, at the average "
          "model unless said otherwise; ±: standard deviation over seeds. <b "
          "class=\"best\">Marked</b>: best of the settings that finished. A setting that was "
          "dropped shows the round where it was.</li></ul>\n");
}

std::string command_section(const Sweep& sweep, const std::string& command) {
  return page_section(
      "command", "Repeat it",
      fmt::format("<pre><code>{}</code></pre>\n<details><summary>sweep.toml: the config and all "
                  "choices</summary>\n<pre><code>{}</code></pre></details>\n",
                  escape_html(command), escape_html(sweep.toml)));
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
    table.columns.push_back(text_column(sweep.keys[i], names[i]));
  table.columns.push_back(
      {.key = metric,
       .title = metric + " (mean)",
       .better = sweep.metric.higher_is_better ? Better::higher : Better::lower});
  table.columns.push_back({.key = "stddev", .title = "± seeds"});
  for (const auto& [column, title, better] : kBeside)
    if (metric != column)
      table.columns.push_back({.key = column, .title = title, .better = better});
  for (const auto& column : text_columns({"seeds", "status", "reason"}))
    table.columns.push_back(column);

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
  table.mark_best([&](std::size_t r) { return result.ranked[r].status == RunEnd::finished; });
  return table;
}

std::string sweep_page(const Sweep& sweep, const SweepResult& result, const std::string& command,
                       const std::string& folder) {
  const auto meta = fmt::format(
      "{} settings, {} seed{} each · {} finished, {} dropped, {} diverged, {} failed · porter {}",
      sweep.settings.size(), sweep.seeds.size(), sweep.seeds.size() == 1 ? "" : "s",
      result.count(RunEnd::finished), result.count(RunEnd::dropped), result.count(RunEnd::diverged),
      result.count(RunEnd::failed), kVersion);
  const char* design = sweep.design == SweepDesign::grid     ? "Grid search"
                       : sweep.design == SweepDesign::random ? "Random search"
                                                             : "Listed settings";
  const auto intro = fmt::format("{} over {}; the best by {} ({} is better), mean over seeds.",
                                 design, listing(sweep.keys), sweep.metric.column.name,
                                 sweep.metric.higher_is_better ? "higher" : "lower");
  return page_shell("porter sweep", intro, meta,
                    best_section(sweep, result, folder) + notes_section(sweep, result) +
                        plots_section(sweep, result) + table_section(sweep, result) +
                        command_section(sweep, command));
}

}  // namespace porter
