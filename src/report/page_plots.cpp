// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "report/page.hpp"
#include "report/text.hpp"

namespace porter {
namespace {

struct Quantity {
  const char* column;
  const char* title;  // of the plot
  const char* axis;
  const char* help;
  bool accuracy = false;
  bool linear = accuracy;  // never on a logarithmic axis
  bool averaged = false;   // over all rounds, so that it needs many evaluations

  bool drawn(const RunGroup& group) const {
    return !averaged || std::ranges::all_of(group.runs, &Trace::has_utility);
  }
};

constexpr Quantity kUtility{"utility",
                            "Utility",
                            "mean squared gradient norm",
                            "Running mean over the rounds of |∇f(x̄)|² at the average model.",
                            false,
                            false,
                            true};
constexpr Quantity kLoss{"loss", "Loss", "training loss",
                         "Full training objective at the average model."};
constexpr Quantity kAccuracy{"test_accuracy", "Test accuracy", "test accuracy (share correct)",
                             "Of the average model. Dashed: always answering the majority class.",
                             true};
constexpr Quantity kRmse{"test_rmse", "Test RMSE", "root mean squared error",
                         "Of the average model on the test set."};
constexpr Quantity kR2{
    "test_r2",
    "Test R2",
    "R2",
    "Of the average model on the test set: 1 is exact, 0 is always answering the "
    "mean of the test targets.",
    false,
    true};
constexpr Quantity kConsensus{"consensus_error", "Consensus error", "consensus error",
                              "How far the agents' models are from their average."};

// The spread over agents of a quantity: columns of the mean and the worst agent.
struct AgentSpread {
  Quantity average;
  const char* mean;
  const char* worst;
};
constexpr AgentSpread kAccuracySpread{
    {"test_accuracy", "Test accuracy of single agents", "test accuracy (share correct)",
     "Line: the average model. Band: from the mean over agents to the worst agent (dotted). "
     "A gap is disagreement that the average hides.",
     true},
    "agent_accuracy_mean",
    "agent_accuracy_worst"};
constexpr AgentSpread kLossSpread{
    {"loss", "Loss of single agents", "training loss",
     "Line: the average model. Band: from the mean over agents to the "
     "worst agent (dotted)."},
    "agent_loss_mean",
    "agent_loss_worst"};

constexpr AgentSpread kR2Spread{
    {"test_r2", "Test R2 of single agents", "R2",
     "Line: the average model. Band: from the mean over agents to the worst "
     "agent (dotted).",
     false, true},
    "agent_r2_mean",
    "agent_r2_worst"};

// Whether a run predicts numbers: only then these columns have figures.
bool is_regression(const RunGroup& group) {
  const auto& run = group.first();
  return run.last("train_rmse").has_value() || run.last("test_rmse").has_value();
}

// The values of some columns in the rows of a run where all of them have one, by round.
using RoundCells = std::map<double, std::vector<double>>;
RoundCells cells_by_round(const Trace& trace, const std::vector<const char*>& columns) {
  RoundCells rows;
  const auto& rounds = *trace.metrics.find(kRounds.column);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    std::vector<double> cells;
    for (const char* name : columns)
      if (const auto* column = trace.metrics.find(name); column && (*column)[i])
        cells.push_back(*(*column)[i]);
    if (cells.size() == columns.size()) rows[*rounds[i]] = std::move(cells);
  }
  return rows;
}

// Spreads of these columns over the runs of a group, for the rounds that every run has.
std::vector<std::vector<Spread>> spreads_of(const RunGroup& group,
                                            const std::vector<const char*>& columns) {
  std::vector<RoundCells> runs;
  for (const auto& run : group.runs) runs.push_back(cells_by_round(run, columns));
  std::vector<std::vector<Spread>> out;
  for (const auto& item : runs.front()) {
    const double round = item.first;
    if (!std::ranges::all_of(runs, [&](const RoundCells& rows) { return rows.contains(round); }))
      continue;
    auto& spreads = out.emplace_back();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::vector<double> values;
      for (const auto& rows : runs) values.push_back(rows.at(round)[c]);
      spreads.push_back(*spread_of(values));
    }
  }
  return out;
}

Series empty_series(const RunGroup& group, std::size_t style) {
  return {.name = group.label(), .style = style, .diverged = group.diverged()};
}

// The mean over seeds, with a band from the least to the largest. A run by itself may have very
// many rows, which are taken as they are.
Series series_of(const RunGroup& group, std::size_t style, const CurveAxis& x, const char* y) {
  auto series = empty_series(group, style);
  if (group.runs.size() > 1) {
    for (const auto& at : spreads_of(group, {x.column, y}))
      series.add(at[0].mean / x.unit, at[1].mean, at[1].low, at[1].high);
    return series;
  }
  const auto& metrics = group.first().metrics;
  const auto *xs = metrics.find(x.column), *ys = metrics.find(y);
  for (std::size_t i = 0; xs && ys && i < xs->size(); ++i)
    if ((*xs)[i] && (*ys)[i]) series.add(*(*xs)[i] / x.unit, *(*ys)[i]);
  return series;
}

Plot plot_of(std::span<const RunGroup> groups, const Quantity& quantity, const CurveAxis& x) {
  Plot plot{.title = std::string(quantity.title) + " " + x.suffix,
            .help = quantity.help,
            .x = {.title = x.title},
            .y = {.title = quantity.axis, .offer_log = !quantity.linear}};
  if (std::ranges::any_of(groups, [](const auto& group) { return group.runs.size() > 1; }))
    plot.help += " Of several seeds: the mean; band: least to largest.";
  std::set<double> rates;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (const auto rate = groups[i].first().number("majority_rate"); rate && quantity.accuracy)
      rates.insert(*rate);
    if (!quantity.drawn(groups[i])) continue;
    auto series = series_of(groups[i], i, x, quantity.column);
    if (series.x.empty()) continue;
    series.unjoin_ends();
    plot.series.push_back(std::move(series));
  }
  plot.x.log = ends_far_apart(plot.series);
  plot.y.log = !quantity.linear && wants_log(plot.series);
  plot.references = majority_lines(rates);
  return plot;
}

// The mean of the agents and the worst beside the average model, where a run has both.
Plot spread_plot(std::span<const RunGroup> groups, const AgentSpread& spread) {
  auto plot = plot_of({}, spread.average, kRounds);
  plot.references = plot_of(groups, spread.average, kRounds).references;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto average = empty_series(groups[i], i), worst = average;
    worst.name += ", worst agent";
    worst.companion = true;
    for (const auto& at : spreads_of(
             groups[i], {kRounds.column, spread.average.column, spread.mean, spread.worst})) {
      const double mean = at[2].mean, last = at[3].mean;
      average.add(at[0].mean, at[1].mean, std::min(mean, last), std::max(mean, last));
      worst.add(at[0].mean, last);
    }
    if (average.x.empty()) continue;
    for (auto* series : {&average, &worst}) {
      series->unjoin_ends();
      plot.series.push_back(std::move(*series));
    }
  }
  if (std::ranges::any_of(plot.series, &Series::points))
    plot.help += " Where only two rounds were evaluated: marks, hollow for the worst agent.";
  plot.x.log = ends_far_apart(plot.series);
  plot.y.log = !spread.average.linear && wants_log(plot.series);
  return plot;
}

// Accuracies unless all runs predict numbers, errors if some do.
struct Kinds {
  bool classes, numbers;
  explicit Kinds(std::span<const RunGroup> groups) {
    const auto regressions = std::ranges::count_if(groups, is_regression);
    numbers = regressions > 0;
    classes = !numbers || regressions < std::ssize(groups);
  }
};

std::vector<Quantity> quantities_of(std::span<const RunGroup> groups) {
  const Kinds kinds(groups);
  std::vector<Quantity> quantities = {kLoss, kUtility};
  if (kinds.classes) quantities.push_back(kAccuracy);
  if (kinds.numbers) quantities.insert(quantities.end(), {kRmse, kR2});
  return quantities;
}

std::vector<AgentSpread> spreads_over_agents(std::span<const RunGroup> groups) {
  const Kinds kinds(groups);
  std::vector<AgentSpread> spreads;
  if (kinds.classes) spreads.push_back(kAccuracySpread);
  if (kinds.numbers) spreads.push_back(kR2Spread);
  spreads.push_back(kLossSpread);
  return spreads;
}

// Whether there are ends, but no way there.
bool has_only_ends(std::span<const RunGroup> groups) {
  return std::ranges::all_of(groups, [](const RunGroup& group) {
    return std::ranges::all_of(group.runs,
                               [](const Trace& run) { return run.metrics.rows() <= 1; });
  });
}

// What the last evaluations say, a bar for each group.
BarChart ends_chart(std::span<const RunGroup> groups, const Quantity& quantity) {
  BarChart chart{.title = std::string(quantity.title) + " at the end",
                 .help = "Mean over seeds; line: least to largest.",
                 .value_title = quantity.axis};
  for (const auto& group : groups) {
    auto& bar = chart.bars.emplace_back(Bar{.label = group.name});
    const auto spread = quantity.drawn(group) ? group.last(quantity.column) : std::nullopt;
    bar.text = group.diverged() ? group.status() : spread ? spread->text() : kAbsent;
    if (!spread || group.diverged()) continue;
    bar.value = spread->mean;
    bar.low = spread->low;
    bar.high = spread->high;
  }
  return chart;
}

}  // namespace

PagePlots page_plots(std::span<const RunGroup> groups) {
  PagePlots page;
  if (has_only_ends(groups)) {
    for (const auto& quantity : quantities_of(groups))
      if (auto chart = ends_chart(groups, quantity);
          std::ranges::any_of(chart.bars, [](const Bar& bar) { return bar.value.has_value(); }))
        page.charts.push_back(std::move(chart));
    page.notes.emplace_back(
        "No curves: of none of these runs more than the last evaluation is kept.");
    return page;
  }
  std::vector<std::string> absent;
  const auto add = [&](const char* title, std::vector<TabFigure> figures) {
    std::erase_if(figures, [](const auto& figure) { return figure.plot.series.empty(); });
    if (figures.empty())
      absent.emplace_back(title);
    else
      page.figures.push_back(std::move(figures));
  };
  const auto add_quantity = [&](const Quantity& quantity) {
    std::vector<TabFigure> figures;
    for (const auto& x : {kRounds, kBytes, kSeconds})
      figures.push_back({x.suffix, plot_of(groups, quantity, x)});
    add(quantity.title, std::move(figures));
  };
  for (const auto& quantity : quantities_of(groups)) add_quantity(quantity);
  for (const auto& spread : spreads_over_agents(groups))
    add(spread.average.title, {{kRounds.suffix, spread_plot(groups, spread)}});
  add_quantity(kConsensus);
  if (!absent.empty())
    page.notes.push_back("Left out, as no run has the figures: " + listing(absent) + ".");
  return page;
}

}  // namespace porter
