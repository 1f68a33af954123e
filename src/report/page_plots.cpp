// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <set>

#include "report/page.hpp"

namespace porter {
namespace {

struct Quantity {
  const char* column;
  const char* title;  // of the plot
  const char* axis;
  const char* help;
  bool accuracy = false;
};

constexpr Quantity kUtility{"utility", "Utility", "mean squared gradient norm",
                            "Running mean over the rounds of |∇f(x̄)|² at the average model."};
constexpr Quantity kLoss{"loss", "Loss", "training loss",
                         "Full training objective at the average model."};
constexpr Quantity kAccuracy{"test_accuracy", "Test accuracy", "test accuracy (share correct)",
                             "Of the average model. Dashed: always answering the majority class.",
                             true};
constexpr Quantity kConsensus{"consensus_error", "Consensus error", "consensus error",
                              "How far the agents' models are from their average."};

// The spread over agents of a quantity: columns of the mean and the worst agent.
struct Spread {
  Quantity average;
  const char* mean;
  const char* worst;
};
constexpr Spread kAccuracySpread{
    {"test_accuracy", "Test accuracy of single agents", "test accuracy (share correct)",
     "Line: the average model. Band: from the mean over agents to the worst agent (dotted). "
     "A gap is disagreement that the average hides.",
     true},
    "agent_accuracy_mean",
    "agent_accuracy_worst"};
constexpr Spread kLossSpread{{"loss", "Loss of single agents", "training loss",
                              "Line: the average model. Band: from the mean over agents to the "
                              "worst agent (dotted)."},
                             "agent_loss_mean",
                             "agent_loss_worst"};

double value_or_nan(const Metrics::Column* column, std::size_t row) {
  const auto value = column ? (*column)[row] : std::nullopt;
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

// The rows in which both cells are filled.
Series series_of(const Trace& trace, std::size_t style, const char* x, const char* y) {
  Series series{.name = trace.name, .style = style, .diverged = trace.diverged()};
  const auto *xs = trace.metrics.find(x), *ys = trace.metrics.find(y);
  for (std::size_t i = 0; xs && ys && i < xs->size(); ++i)
    if ((*xs)[i] && (*ys)[i]) series.add(*(*xs)[i], *(*ys)[i]);
  return series;
}

Plot plot_of(std::span<const Trace> traces, const Quantity& quantity, const CurveAxis& x) {
  Plot plot{.title = std::string(quantity.title) + " " + x.suffix,
            .help = quantity.help,
            .x = {.title = x.title},
            .y = {.title = quantity.axis, .offer_log = !quantity.accuracy}};
  for (std::size_t i = 0; i < traces.size(); ++i)
    if (auto series = series_of(traces[i], i, x.column, quantity.column); !series.x.empty())
      plot.series.push_back(std::move(series));
  plot.x.log = ends_far_apart(plot.series);
  plot.y.log = !quantity.accuracy && wants_log(plot.series);
  std::set<double> rates;
  for (const auto& trace : traces)
    if (const auto rate = trace.number("majority_rate"); rate && quantity.accuracy)
      rates.insert(*rate);
  plot.references = majority_lines(rates);
  return plot;
}

// The mean of the agents and the worst beside the average model, where a run has both.
Plot spread_plot(std::span<const Trace> traces, const Spread& spread) {
  auto plot = plot_of(traces, spread.average, kRounds);
  std::vector<Series> series;
  for (auto& average : plot.series) {
    const auto& trace = traces[average.style];
    auto worst = series_of(trace, average.style, kRounds.column, spread.worst);
    if (worst.x.empty()) continue;
    worst.name += ", worst agent";
    worst.companion = true;
    const auto &rounds = *trace.metrics.find(kRounds.column),
               &averages = *trace.metrics.find(spread.average.column);
    for (std::size_t row = 0; row < rounds.size(); ++row) {
      if (!averages[row]) continue;
      const double mean = value_or_nan(trace.metrics.find(spread.mean), row);
      const double last = value_or_nan(trace.metrics.find(spread.worst), row);
      average.band_low.push_back(std::min(mean, last));
      average.band_high.push_back(std::max(mean, last));
    }
    series.push_back(std::move(average));
    series.push_back(std::move(worst));
  }
  plot.series = std::move(series);
  plot.y.log = !spread.average.accuracy && wants_log(plot.series);
  return plot;
}

}  // namespace

PagePlots page_plots(std::span<const Trace> traces) {
  PagePlots page;
  const auto add = [&](Plot plot) {
    if (plot.series.empty())
      page.left_out.push_back(plot.title);
    else
      page.plots.push_back(std::move(plot));
  };
  for (const auto& quantity : {kUtility, kLoss, kAccuracy})
    for (const auto& x : {kRounds, kBits}) add(plot_of(traces, quantity, x));
  for (const auto& spread : {kAccuracySpread, kLossSpread}) add(spread_plot(traces, spread));
  for (const auto& x : {kRounds, kBits}) add(plot_of(traces, kConsensus, x));
  return page;
}

}  // namespace porter
