// SPDX-License-Identifier: Apache-2.0
#include "grid/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/registry.hpp"
#include "core/text.hpp"
#include "porter/version.hpp"
#include "report/page.hpp"
#include "report/text.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxKeys = 3;     // of which pairs are drawn
constexpr std::size_t kMaxLabels = 24;  // along an axis of a heat map
constexpr double kLogRatio = 20;

// The different values of a key: ascending if they are numbers, else as they were given.
struct KeyValues {
  std::vector<std::string> texts;
  bool numeric = true;

  KeyValues(const Sweep& sweep, std::size_t key) {
    for (const auto& setting : sweep.settings) {
      const auto& value = setting.values[key];
      numeric = numeric && parse_number<double>(value);
      if (std::find(texts.begin(), texts.end(), value) == texts.end()) texts.push_back(value);
    }
    if (numeric)
      std::sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) {
        return *parse_number<double>(a) < *parse_number<double>(b);
      });
  }
  std::size_t place(const std::string& value) const {
    return static_cast<std::size_t>(std::find(texts.begin(), texts.end(), value) - texts.begin());
  }
};

// How much the best metric differs between the values of a key.
double importance(const Sweep& sweep, const SweepResult& result, std::size_t key) {
  std::map<std::string, double> best;
  for (const auto& setting : result.ranked)
    if (setting.status == RunEnd::finished)  // the best comes first
      best.try_emplace(sweep.settings[setting.setting].values[key], *setting.mean);
  if (best.size() < 2) return 0;
  const auto [low, high] =
      std::ranges::minmax_element(best, {}, [](const auto& row) { return row.second; });
  return high->second - low->second;
}

HeatCell cell_of(const Sweep& sweep, const SettingResult& setting) {
  HeatCell cell;
  cell.tip = sweep.settings[setting.setting].name + "\n";
  if (setting.status == RunEnd::finished) {
    cell.value = setting.mean;
    cell.tip += fmt::format("{} = {:.6g}", sweep.metric.column.name, *setting.mean);
    if (setting.stddev) cell.tip += fmt::format(" ± {:.2g}", *setting.stddev);
  } else {
    cell.text = to_string(setting.status);
    cell.tip += cell.text + ": " + setting.reason;
  }
  return cell;
}

HeatMap heat_map_of(const Sweep& sweep, const SweepResult& result, std::size_t x, std::size_t y) {
  const KeyValues xs(sweep, x), ys(sweep, y);
  const auto names = short_keys(sweep.keys);
  const std::string metric = sweep.metric.column.name;
  HeatMap map{.title = metric + " by " + names[x] + " and " + names[y],
              .help = sweep.keys.size() > 2
                          ? fmt::format("Mean over {} of the best setting with these two values; "
                                        "bright is good, the best is framed.",
                                        sweep.averaged())
                          : fmt::format("Mean over {}; bright is good, the best is framed.",
                                        sweep.averaged()),
              .x_title = sweep.keys[x],
              .y_title = sweep.keys[y],
              .value_title = metric + ", worst to best",
              .higher_is_better = sweep.metric.higher_is_better};
  for (const auto& value : xs.texts) map.x.push_back(plain_value(value));
  for (const auto& value : ys.texts) map.y.push_back(plain_value(value));
  map.cells.resize(map.x.size() * map.y.size());
  for (auto setting = result.ranked.rbegin(); setting != result.ranked.rend(); ++setting) {
    const auto& values = sweep.settings[setting->setting].values;
    auto& cell = map.cells[ys.place(values[y]) * map.x.size() + xs.place(values[x])];
    cell = cell_of(sweep, *setting);
    cell.best = &*setting == result.best();
  }
  return map;
}

Plot key_plot(const Sweep& sweep, const SweepResult& result, std::size_t key) {
  const auto names = short_keys(sweep.keys);
  const std::string metric = sweep.metric.column.name;
  const bool alone = sweep.keys.size() == 1;
  Plot plot{
      .title = metric + " by " + names[key],
      .help = alone ? fmt::format("Mean over {}; band: one standard deviation.", sweep.averaged())
                    : fmt::format("Each mark is a setting that finished, mean over {}.",
                                  sweep.averaged()),
      .x = {.title = sweep.keys[key]},
      .y = {.title = metric}};
  Series all{.name = "settings", .style = 0, .points = true};
  Series best{
      .name = alone ? fmt::format("mean over {}", sweep.averaged()) : "best of the settings",
      .style = 1};
  Range xs, ys;
  for (const auto& value : KeyValues(sweep, key).texts) {
    const double x = *parse_number<double>(value);
    bool first = true;
    for (const auto& setting : result.ranked) {
      if (setting.status != RunEnd::finished ||
          sweep.settings[setting.setting].values[key] != value)
        continue;
      const double mean = *setting.mean, stddev = setting.stddev.value_or(0);
      all.add(x, mean);
      xs.add(x);
      ys.add(mean);
      if (std::exchange(first, false)) best.add(x, mean, mean - stddev, mean + stddev);
    }
  }
  if (all.x.empty()) return plot;
  plot.y.log = ys.beyond(kLogRatio);
  plot.x.log = xs.beyond(kLogRatio / 2);
  if (!alone) best.band_low = best.band_high = {};
  best.unjoin_ends();
  if (!alone) plot.series.push_back(std::move(all));
  if (alone || sweep.design == SweepDesign::grid) plot.series.push_back(std::move(best));
  return plot;
}

// What stands beside the metric: loss, utility and accuracy together, because each misleads alone.
std::vector<TableColumn> columns_beside(const std::string& metric) {
  std::vector<TableColumn> columns = {
      {"loss", "loss", Better::lower},
      {"utility", "utility", Better::lower},
      {"test_accuracy", "test acc.", Better::higher},
      {"agent_accuracy_mean", "agents' acc.", Better::higher},
      {"test_rmse", "test RMSE", Better::lower},
      {"test_r2", "test R2", Better::higher},
      {"agent_r2_mean", "agents' R2", Better::higher},
      {"consensus_error", "consensus err.", Better::lower},
      {"epsilon", "epsilon"},
  };
  std::erase_if(columns, [&](const auto& column) { return column.key == metric; });
  return columns;
}

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
          fmt::format(
              "</div>\n<ul class=\"notes\"><li>Means over {0} of the last evaluation, at the "
              "average "
              "model unless said otherwise; ±: standard deviation over {0}. <b "
              "class=\"best\">Marked</b>: best of the settings that finished. A setting that was "
              "dropped shows the round where it was.</li></ul>\n",
              sweep.averaged()));
}

std::string command_section(const Sweep& sweep, const std::string& command) {
  return page_section(
      "command", "Repeat it",
      fmt::format("<pre><code>{}</code></pre>\n<details><summary>sweep.toml: the config and all "
                  "choices</summary>\n<pre><code>{}</code></pre></details>\n",
                  escape_html(command), escape_html(sweep.toml)));
}

}  // namespace

std::vector<HeatMap> sweep_heat_maps(const Sweep& sweep, const SweepResult& result) {
  std::vector<std::pair<double, std::size_t>> order;  // the most important first
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    const auto count = KeyValues(sweep, key).texts.size();
    if (count > 1 && count <= kMaxLabels) order.emplace_back(-importance(sweep, result, key), key);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kMaxKeys) order.resize(kMaxKeys);
  std::vector<HeatMap> maps;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const auto [y, x] = std::minmax(order[i].second, order[j].second);
      maps.push_back(heat_map_of(sweep, result, x, y));
    }
  return maps;
}

std::vector<Plot> sweep_key_plots(const Sweep& sweep, const SweepResult& result) {
  std::vector<Plot> plots;
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    const KeyValues values(sweep, key);
    if (!values.numeric || values.texts.size() < 2) continue;
    if (auto plot = key_plot(sweep, result, key); !plot.series.empty())
      plots.push_back(std::move(plot));
  }
  return plots;
}

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
  table.columns.push_back({.key = "stddev", .title = fmt::format("± {}", sweep.averaged())});
  const auto beside = columns_beside(metric);
  for (const auto& columns :
       {beside, text_columns({sweep.folds > 0 ? "runs" : "seeds", "status", "reason"})})
    table.columns.insert(table.columns.end(), columns.begin(), columns.end());

  for (std::size_t r = 0; r < result.ranked.size(); ++r) {
    const auto& setting = result.ranked[r];
    const bool comparable = setting.status == RunEnd::finished || setting.status == RunEnd::dropped;
    auto& row = table.rows.emplace_back();
    row.push_back({.text = std::to_string(r + 1), .value = static_cast<double>(r + 1)});
    for (const auto& value : sweep.settings[setting.setting].values)
      row.push_back({.text = plain_value(value)});
    const auto add = [&](const std::optional<double>& value) {
      row.push_back(number_cell(comparable ? value : std::nullopt));
    };
    add(setting.mean);
    add(setting.stddev);
    for (const auto& column : beside)
      add(setting.mean_of(find_named(metrics_columns(), column.key)));
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
      "{} settings, {} seed{} {}each · {} finished, {} dropped, {} diverged, {} failed · porter {}",
      sweep.settings.size(), sweep.seeds.size(), sweep.seeds.size() == 1 ? "" : "s",
      sweep.folds > 0 ? fmt::format("times {} folds ", sweep.folds) : "",
      result.count(RunEnd::finished), result.count(RunEnd::dropped), result.count(RunEnd::diverged),
      result.count(RunEnd::failed), kVersion);
  const char* design = sweep.design == SweepDesign::grid     ? "Grid search"
                       : sweep.design == SweepDesign::random ? "Random search"
                                                             : "Listed settings";
  const auto intro =
      fmt::format("{} over {}; the best by {} ({} is better), mean over {}.", design,
                  listing(sweep.keys), sweep.metric.column.name,
                  sweep.metric.higher_is_better ? "higher" : "lower", sweep.averaged());
  return page_shell("porter sweep", intro, meta,
                    best_section(sweep, result, folder) + notes_section(sweep, result) +
                        plots_section(sweep, result) + table_section(sweep, result) +
                        command_section(sweep, command));
}

}  // namespace porter
