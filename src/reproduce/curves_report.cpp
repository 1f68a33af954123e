// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "porter/core/error.hpp"
#include "study_parts.hpp"

namespace porter {
namespace {

/// A setting over its seeds: where one finished, those that did; else what there is.
struct Runs {
  std::vector<const GridRun*> runs;
  bool diverged = false;
};

Runs runs_of(const GridResult& result, std::size_t setting) {
  Runs out{.runs = finished_runs(result, setting)};
  if (!out.runs.empty()) return out;
  out.diverged = true;
  for (std::size_t seed = 0; seed < result.seeds; ++seed)
    if (const auto& run = result.run(setting, seed); !run.rows.empty()) out.runs.push_back(&run);
  return out;
}

// The values of a column by round, for the rounds that every run has.
std::map<std::uint32_t, std::vector<double>> by_round(const Runs& runs, const std::string& column) {
  std::map<std::uint32_t, std::vector<double>> values;
  for (const auto* run : runs.runs)
    for (const auto& row : run->rows)
      if (const auto value = find_column(column).get(row)) values[row.round].push_back(*value);
  std::erase_if(values, [&](const auto& item) { return item.second.size() < runs.runs.size(); });
  return values;
}

// Mean over seeds, the band from the least to the largest.
Series mean_series(const Study& study, const GridResult& result, std::size_t setting,
                   const char* x_column, const std::string& y_column) {
  const auto runs = runs_of(result, setting);
  const auto xs = by_round(runs, x_column), ys = by_round(runs, y_column);
  Series series{
      .name = study.series_of(setting).label, .style = setting, .diverged = runs.diverged};
  if (!runs.diverged && runs.runs.size() < result.seeds)
    series.name += concat(" (", runs.runs.size(), " of ", result.seeds, " seeds)");
  for (const auto& [round, values] : ys) {
    const auto x = xs.find(round);
    if (x == xs.end()) continue;
    const auto spread = *spread_of(values);
    series.add(spread_of(x->second)->mean, spread.mean, spread.low, spread.high);
  }
  series.unjoin_ends();
  return series;
}

// Runs have no seconds where no clock is modelled.
bool has_axis(const GridSetting& setting, const CurveAxis& x) {
  return std::string_view(x.column) != kSeconds.column ||
         (setting.config && has_clock(*setting.config));
}

Plot metric_plot(const Study& study, const GridResult& result, const std::string& metric,
                 const CurveAxis& x) {
  Plot plot{.title = plot_title(figure_title(metric) + " " + x.suffix),
            .help = seeds_help(result, "band"),
            .x = {.title = x.title},
            .y = {.title = axis_title(metric), .offer_log = !is_accuracy(metric)}};
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    if (!has_axis(study.settings[s], x)) continue;
    if (auto series = mean_series(study, result, s, x.column, metric); !series.x.empty())
      plot.series.push_back(std::move(series));
  }
  plot.x.log = ends_far_apart(plot.series);
  plot.y.log = !is_accuracy(metric) && wants_log(plot.series);
  plot.references = majority_lines(result, metric);
  return plot;
}

// The agents beside their average, means over seeds.
struct AgentSpread {
  const char* average;
  const char* mean;
  const char* worst;
  const char* title;
};
constexpr AgentSpread kSpreads[] = {
    {"test_accuracy", "agent_accuracy_mean", "agent_accuracy_worst",
     "Test accuracy of single agents"},
    {"loss", "agent_loss_mean", "agent_loss_worst", "Loss of single agents"}};

Plot agent_plot(const Study& study, const GridResult& result, const AgentSpread& spread) {
  auto plot = metric_plot(study, result, spread.average, kRounds);
  plot.title = spread.title;
  plot.help =
      "Line: the average model. Band: from the mean over agents to the worst agent (dotted). A gap "
      "is disagreement that the average hides. Means over seeds.";
  std::vector<Series> all;
  for (auto& line : plot.series) {
    const auto mean = mean_series(study, result, line.style, kRounds.column, spread.mean);
    auto worst = mean_series(study, result, line.style, kRounds.column, spread.worst);
    if (worst.x != line.x || mean.x != line.x) continue;
    line.band_low.clear();
    line.band_high.clear();
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      line.band_low.push_back(std::min(mean.y[i], worst.y[i]));
      line.band_high.push_back(std::max(mean.y[i], worst.y[i]));
    }
    worst.name += ", worst agent";
    worst.companion = true;
    worst.band_low.clear();
    worst.band_high.clear();
    all.push_back(std::move(line));
    all.push_back(std::move(worst));
  }
  plot.series = std::move(all);
  plot.y.log = plot.y.offer_log && wants_log(plot.series);
  return plot;
}

std::string curves_headline(const Study& study, const GridResult& result) {
  const auto& metric = study.metrics.front();
  std::string text = figure_title(metric) + " at the end: ";
  for (std::size_t s = 0; s < study.settings.size(); ++s)
    text += concat(s > 0 ? ", " : "", study.series_of(s).label, " ",
                   spread_cell(result, s, metric).text);
  return text;
}

}  // namespace

void add_curves(const Study& study, const GridResult& result, StudyReport& report) {
  report.tables.push_back(summary_table(study, result));
  const auto add = [&](const std::string& file, Plot plot) {
    if (!plot.series.empty()) report.figures.push_back({file, std::move(plot)});
  };
  for (const auto& metric : study.metrics)
    for (const auto& x : {kRounds, kBits, kSeconds})
      add(file_name(metric + " " + x.suffix), metric_plot(study, result, metric, x));
  for (const auto& spread : kSpreads)
    add(file_name(spread.title), agent_plot(study, result, spread));
  report.headline = curves_headline(study, result);
}

}  // namespace porter
