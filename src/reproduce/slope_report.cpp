// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "porter/core/error.hpp"
#include "reproduce/line_fit.hpp"
#include "study_parts.hpp"

namespace porter {
namespace {

// The finished runs of the series, by value.
std::vector<Replicates> replicates_of(const Study& study, const GridResult& result,
                                      std::size_t series) {
  std::vector<Replicates> values;
  for (std::size_t v = 0; v < study.values.size(); ++v) {
    const auto s = series * study.values.size() + v;
    auto& value = values.emplace_back();
    for (const auto* run : finished_runs(result, s)) {
      const auto x = run_figure(study.x, *study.settings[s].config, *run);
      const auto y = run_figure(study.y, *study.settings[s].config, *run);
      if (!x || !y) continue;
      value.x.push_back(*x);
      value.y.push_back(*y);
    }
  }
  return values;
}

Replicates all_runs(const std::vector<Replicates>& values) {
  Replicates all;
  for (const auto& value : values) {
    all.x.insert(all.x.end(), value.x.begin(), value.x.end());
    all.y.insert(all.y.end(), value.y.begin(), value.y.end());
  }
  return all;
}

Series fitted_line(const std::string& name, const Replicates& points, const PowerLaw& law,
                   std::size_t style) {
  const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
  Series line{.name = name, .style = style, .computed = true};
  for (const double x : {*low, *high}) line.add(x, law.scale * std::pow(x, law.slope));
  return line;
}

// The theorem's exponent through the middle of the fitted line.
Series theorem_line(const Series& fitted, double exponent) {
  const double x = std::sqrt(fitted.x.front() * fitted.x.back());
  const double y = std::sqrt(fitted.y.front() * fitted.y.back());
  Series line{.name = concat("x^", exponent, ", the theorem's order"),
              .style = fitted.style,
              .companion = true};
  for (const double at : fitted.x) line.add(at, y * std::pow(at / x, exponent));
  return line;
}

// Without "-0.000".
std::string fixed(double value, int decimals) {
  const auto text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_of("123456789") == text.npos ? fmt::format("{:.{}f}", 0.0, decimals)
                                                      : text;
}

std::string number(double value) { return fixed(value, 3); }

std::string slopes_text(const Linearity& line) {
  std::string text;
  for (const double slope : line.local_slopes) text += (text.empty() ? "" : ", ") + fixed(slope, 2);
  return text;
}

// What is known of one series; the law only where a line fits.
struct Fit {
  std::optional<PowerLaw> law;
  Linearity line;
  std::string verdict;
};

Fit fit_of(const std::vector<Replicates>& values, const Replicates& points, double exponent) {
  Fit fit;
  fit.law = fit_power_law(points.x, points.y);
  if (!fit.law) {
    fit.verdict = points.x.size() < 3 ? "fewer than three points" : "x does not vary";
    return fit;
  }
  fit.line = test_line(values, *fit.law);
  if (fit.line.fits(exponent)) {
    fit.verdict = slope_verdict(*fit.law, exponent);
    return fit;
  }
  fit.law.reset();
  fit.verdict = fit.line.local_slopes.size() < 2 ? "two values lie on any line"
                                                 : "no line: local slopes " + slopes_text(fit.line);
  return fit;
}

std::vector<TableCell> slope_row(const Study& study, const std::string& label, const Fit& fit,
                                 std::size_t points) {
  const auto of_law = [&](double PowerLaw::*member) {
    return number_cell(fit.law ? std::optional((*fit.law).*member) : std::nullopt, number);
  };
  const auto count = fit.law ? fit.law->points : points;
  return {{.text = label},
          of_law(&PowerLaw::slope),
          of_law(&PowerLaw::low),
          of_law(&PowerLaw::high),
          number_cell(study.exponent, number),
          {.text = fit.verdict},
          {.text = std::to_string(count), .value = double(count)},
          {.text = slopes_text(fit.line)},
          number_cell(fit.line.p, number)};
}

// The settings of a series: where their points lie.
void add_points(const Study& study, const GridResult& result, std::size_t series,
                const std::vector<Replicates>& values, Table& table) {
  for (std::size_t v = 0; v < values.size(); ++v) {
    const auto s = series * values.size() + v;
    const auto runs = finished_runs(result, s).size();
    const auto cell = [&](const std::vector<double>& figures) -> TableCell {
      if (runs == 0) return {.text = to_string(result.run(s, 0).status)};
      const auto spread = spread_of(figures);
      return spread ? TableCell{.text = spread->text(), .value = spread->mean} : TableCell{};
    };
    table.rows.push_back({{.text = study.series[series].label},
                          {.text = plain_value(study.values[v])},
                          cell(values[v].x),
                          cell(values[v].y),
                          {.text = concat(runs, " of ", result.seeds)}});
  }
}

std::string headline(const Study& study, const std::string& label, const Fit& fit) {
  const auto theorem = concat("theorem ", number(study.exponent));
  if (!fit.law) return concat(label, ": ", fit.verdict, " (", theorem, ")");
  return concat(label, ": ", number(fit.law->slope), " [", number(fit.law->low), ", ",
                number(fit.law->high), "], ", theorem, ": ", fit.verdict);
}

}  // namespace

void add_slope(const Study& study, const GridResult& result, StudyReport& report) {
  Table table{{text_column("series", "series"),
               {"slope", "fitted slope"},
               {"low", "95 % from"},
               {"high", "to"},
               {"exponent", "theorem"},
               text_column("verdict", "verdict"),
               {"points", "points"},
               text_column("local", "local slopes"),
               {"p", "lack of fit, p"}}};
  Table settings{{text_column("series", "series"),
                  text_column("value", study.vary),
                  {"x", figure_title(study.x)},
                  {"y", figure_title(study.y)},
                  {"runs", "runs"}}};
  Plot plot{
      .title = plot_title(figure_title(study.y) + " against " + figure_title(study.x)),
      .help =
          "Points: single runs. Line: least squares between the logarithms, where a line fits. "
          "Dotted: the theorem's exponent through the middle of the line.",
      .x = {.title = axis_title(study.x), .log = true},
      .y = {.title = axis_title(study.y), .log = true}};
  for (std::size_t i = 0; i < study.series.size(); ++i) {
    const auto& label = study.series[i].label;
    const auto values = replicates_of(study, result, i);
    add_points(study, result, i, values, settings);
    auto points = all_runs(values);
    const auto fit = fit_of(values, points, study.exponent);
    table.rows.push_back(slope_row(study, label, fit, points.x.size()));
    if (fit.law) {
      auto line =
          fitted_line(concat(label, ": slope ", number(fit.law->slope)), points, *fit.law, i);
      plot.series.push_back(theorem_line(line, study.exponent));
      plot.series.push_back(std::move(line));
    }
    if (fit.law || !fit.line.local_slopes.empty())
      report.headline += concat(report.headline.empty() ? "" : "; ", headline(study, label, fit));
    if (!points.x.empty())
      plot.series.push_back({.name = label + ", single runs",
                             .x = std::move(points.x),
                             .y = std::move(points.y),
                             .style = i,
                             .points = true});
  }
  const auto theorem = study.theorem.empty() ? std::string("The exponent") : study.theorem;
  report.tables.push_back(
      {.file = "slope",
       .title = "Fitted slope",
       .table = std::move(table),
       .notes = {concat(theorem, ": ", study.y, " of order ", study.x, "^", study.exponent,
                        ". It is an upper bound without constants: a slope can differ and not "
                        "contradict it."),
                 "The interval is Student's t over all single runs. Agrees: it holds the exponent. "
                 "Steeper, flatter: it lies beyond, or short of it.",
                 "No line: the local slopes, between neighbouring values, are more than half the "
                 "exponent apart, and the lack-of-fit F test (the seeds are the replicates) does "
                 "not put that down to the seeds: p < 0.05, or one seed only. Then there is no "
                 "slope, and no verdict."}});
  report.tables.push_back({.file = "points", .title = "Settings", .table = std::move(settings)});
  if (!plot.series.empty()) report.figures.push_back({"slope", std::move(plot)});
  if (report.headline.empty()) report.headline = "no slope could be fitted";
}

}  // namespace porter
