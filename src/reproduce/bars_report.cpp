// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "porter/core/error.hpp"
#include "study_parts.hpp"

namespace porter {
namespace {

std::string short_key(const Study& study) { return study.vary.substr(study.vary.find('.') + 1); }

// Series down, values across; the name of the key stands once, in front of them.
Table metric_table(const Study& study, const GridResult& result, const std::string& metric) {
  const auto head = study.vary.empty() ? "series" : short_key(study) + " =";
  Table table{{text_column("series", head)}};
  for (const auto& value : study.values)
    table.columns.push_back({plain_value(value), plain_value(value), better_direction(metric)});
  for (std::size_t i = 0; i < study.series.size(); ++i) {
    auto& row = table.rows.emplace_back();
    row.push_back({.text = study.series[i].label});
    for (std::size_t v = 0; v < study.values.size(); ++v)
      row.push_back(spread_cell(result, i * study.values.size() + v, metric));
  }
  table.mark_best();
  return table;
}

// Where a setting stands on the axis: its value, its place in the list of values that are no
// numbers, or the mean of a figure of its runs.
double place_of(const Study& study, const GridResult& result, std::size_t setting, bool numbers) {
  const auto value = study.value_of(setting);
  if (study.x == study.vary && !numbers) return static_cast<double>(value + 1);
  if (study.x == study.vary) return *value_number(study.values[value]);
  std::vector<double> xs;
  for (const auto* run : finished_runs(result, setting))
    if (const auto x = run_figure(study.x, *study.settings[setting].config, *run)) xs.push_back(*x);
  const auto spread = spread_of(xs);
  return spread ? spread->mean : std::numeric_limits<double>::quiet_NaN();
}

bool wants_log_axis(const std::vector<Series>& all) {
  Range range;
  for (const auto& series : all)
    for (const double x : series.x)
      if (std::isfinite(x)) range.add(x);
  return range.low > 0 && range.high >= 8 * range.low;
}

Plot metric_plot(const Study& study, const GridResult& result, const std::string& metric) {
  const bool numbers = std::ranges::all_of(
      study.values, [](const auto& value) { return value_number(value).has_value(); });
  const bool categories = study.x == study.vary && !numbers;
  Plot plot{.title = plot_title(figure_title(metric) + " by " + figure_title(study.x)),
            .help = seeds_help(result, "band"),
            .x = {.title = axis_title(study.x), .offer_log = !categories},
            .y = {.title = axis_title(metric), .offer_log = !is_accuracy(metric)}};
  if (categories)
    for (const auto& value : study.values) plot.x.labels.push_back(plain_value(value));
  for (std::size_t i = 0; i < study.series.size(); ++i) {
    Series series{.name = study.series[i].label, .style = i};
    for (std::size_t v = 0; v < study.values.size(); ++v) {
      const auto setting = i * study.values.size() + v;
      const auto spread = last_spread(result, setting, metric);
      const double x = place_of(study, result, setting, numbers);
      if (spread && std::isfinite(x)) series.add(x, spread->mean, spread->low, spread->high);
    }
    if (!series.x.empty()) plot.series.push_back(std::move(series));
  }
  plot.x.log = !categories && wants_log_axis(plot.series);
  plot.y.log = !is_accuracy(metric) && wants_log(plot.series);
  plot.references = majority_lines(result, metric);
  return plot;
}

// Of the only value, a bar per series.
BarChart metric_chart(const Study& study, const GridResult& result, const std::string& metric) {
  BarChart chart{.title = plot_title(figure_title(metric)),
                 .help = "At the last round. " + seeds_help(result, "whisker"),
                 .value_title = axis_title(metric),
                 .references = majority_lines(result, metric)};
  for (std::size_t i = 0; i < study.series.size(); ++i) {
    const auto spread = last_spread(result, i, metric);
    Bar bar{.label = study.series[i].label, .text = spread_cell(result, i, metric).text};
    if (spread) {
      bar.value = spread->mean;
      bar.low = spread->low;
      bar.high = spread->high;
    }
    chart.bars.push_back(std::move(bar));
  }
  return chart;
}

// Ours beside what was stored, one row per figure.
Table stored_table(const Study& study, const GridResult& result) {
  Table table{{text_column("series", "series"),
               text_column("value", study.vary.empty() ? "value" : short_key(study)),
               text_column("metric", "figure"),
               {"ours", "ours"},
               {"low", "least"},
               {"high", "largest"},
               {"stored", "stored"},
               {"difference", "difference"},
               {"percent", "in %"}}};
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    const auto& series = study.series_of(s);
    if (series.stored.empty()) continue;
    for (const auto& [metric, stored] : series.stored[study.value_of(s)]) {
      const auto ours = last_spread(result, s, metric);
      std::optional<double> low, high, off, percent;
      if (ours) {
        low = ours->low;
        high = ours->high;
        off = ours->mean - stored;
        if (stored != 0) percent = 100 * *off / std::abs(stored);
      }
      table.rows.push_back(
          {{.text = series.label},
           {.text = plain_value(study.values[study.value_of(s)])},
           {.text = figure_title(metric)},
           spread_cell(result, s, metric),
           number_cell(low),
           number_cell(high),
           number_cell(stored),
           number_cell(off, [](double value) { return fmt::format("{:+.4f}", value); }),
           number_cell(percent, [](double value) {
             return fmt::format("{:+.1f}", std::abs(value) < 0.05 ? 0.0 : value);  // no "-0.0"
           })});
    }
  }
  return table;
}

// The first metric: of the first series, for every value, and the best of all.
std::string bars_headline(const Study& study, const GridResult& result) {
  const auto& metric = study.metrics.front();
  const auto better = better_direction(metric);
  std::string first, values;
  std::optional<std::size_t> best;
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    const auto spread = last_spread(result, s, metric);
    if (s < study.values.size()) {
      first +=
          concat(first.empty() ? "" : ", ", spread ? fmt::format("{:.4g}", spread->mean) : "-");
      values += concat(values.empty() ? "" : ", ", plain_value(study.values[s]));
    }
    if (!spread) continue;
    const bool wins = !best || (better == Better::higher
                                    ? spread->mean > last_spread(result, *best, metric)->mean
                                    : spread->mean < last_spread(result, *best, metric)->mean);
    if (wins) best = s;
  }
  if (!best) return "no setting has " + figure_title(metric);
  const auto at = study.values.size() == 1 ? "" : concat(" at ", study.vary, " = ", values);
  return concat(figure_title(metric), ": ", first, " (", study.series.front().label, ")", at,
                "; best ", last_spread(result, *best, metric)->text(), " (",
                study.settings[*best].name, ")");
}

}  // namespace

void add_bars(const Study& study, const GridResult& result, StudyReport& report) {
  report.headline = bars_headline(study, result);
  if (auto stored = stored_table(study, result); !stored.rows.empty()) {
    double worst = 0;
    for (const auto& row : stored.rows)
      if (row.back().value) worst = std::max(worst, std::abs(*row.back().value));
    report.headline = fmt::format("{} stored figures, the farthest of ours is off by {:.1f} %",
                                  stored.rows.size(), worst);
    report.tables.push_back(
        {.file = "stored",
         .title = "Beside the stored figures",
         .table = std::move(stored),
         .notes = {"Ours: mean ± standard deviation over seeds, with the least and the largest. "
                   "The difference is ours minus stored."}});
  }
  const bool single = study.values.size() == 1;
  if (single) report.tables.push_back(summary_table(study, result));
  for (const auto& metric : study.metrics) {
    if (single)
      report.charts.push_back({file_name(metric), metric_chart(study, result, metric)});
    else
      report.tables.push_back({.file = file_name(metric),
                               .title = plot_title(figure_title(metric)),
                               .table = metric_table(study, result, metric)});
    if (single && study.x == study.vary) continue;  // one value makes no axis
    if (auto plot = metric_plot(study, result, metric); !plot.series.empty())
      report.figures.push_back({file_name(metric + " by " + study.x), std::move(plot)});
  }
  if (!single)
    report.tables.back().notes.push_back(
        "Mean ± standard deviation over seeds, at the last round and at the average model unless "
        "agents are named. Marked: the best of a column.");
}

}  // namespace porter
