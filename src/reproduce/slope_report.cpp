// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "porter/core/error.hpp"
#include "porter/reproduce/line_fit.hpp"
#include "porter/run/sweep_values.hpp"
#include "study_figure.hpp"
#include "study_parts.hpp"

namespace porter {
namespace {

struct Points {
  std::vector<double> x, y;
};

// One per finished run of the series, all values and seeds.
Points points_of(const Study& study, const StudyResult& result, std::size_t series) {
  Points points;
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    if (study.settings[s].series != series) continue;
    for (const auto* run : finished_runs(result, s)) {
      const auto x = run_figure(study.x, *study.settings[s].config, *run);
      const auto y = run_figure(study.y, *study.settings[s].config, *run);
      if (!x || !y) continue;
      points.x.push_back(*x);
      points.y.push_back(*y);
    }
  }
  return points;
}

Series fitted_line(const std::string& name, const Points& points, const PowerLaw& law,
                   std::size_t style) {
  const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
  Series line{.name = name, .style = style};
  for (const double x : {*low, *high}) {
    line.x.push_back(x);
    line.y.push_back(law.scale * std::pow(x, law.slope));
  }
  return line;
}

// The theorem's exponent through the middle of the fitted line.
Series theorem_line(const Series& fitted, double exponent) {
  const double x = std::sqrt(fitted.x.front() * fitted.x.back());
  const double y = std::sqrt(fitted.y.front() * fitted.y.back());
  Series line{.name = concat("x^", exponent, ", the theorem's order"),
              .style = fitted.style,
              .companion = true};
  for (const double at : fitted.x) {
    line.x.push_back(at);
    line.y.push_back(y * std::pow(at / x, exponent));
  }
  return line;
}

std::string number(double value) { return fmt::format("{:.3f}", value); }

std::vector<TableCell> slope_row(const Study& study, const std::string& label,
                                 const std::optional<PowerLaw>& law, std::size_t points) {
  if (!law)
    return {{.text = label},
            {},
            {},
            {},
            {.text = number(study.exponent), .value = study.exponent},
            {.text = points < 3 ? "fewer than three points" : "x does not vary"},
            {.text = std::to_string(points), .value = double(points)}};
  return {{.text = label},
          {.text = number(law->slope), .value = law->slope},
          {.text = number(law->low), .value = law->low},
          {.text = number(law->high), .value = law->high},
          {.text = number(study.exponent), .value = study.exponent},
          {.text = slope_verdict(*law, study.exponent)},
          {.text = std::to_string(law->points), .value = double(law->points)}};
}

// Every setting: where its points lie.
Table values_table(const Study& study, const StudyResult& result) {
  Table table{{{"series", "series", Better::neither, true},
               {"value", study.vary, Better::neither, true},
               {"x", figure_title(study.x)},
               {"y", figure_title(study.y)},
               {"runs", "runs"}},
              {}};
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    const auto& setting = study.settings[s];
    std::vector<double> xs, ys;
    const auto runs = finished_runs(result, s);
    for (const auto* run : runs) {
      if (const auto x = run_figure(study.x, *setting.config, *run)) xs.push_back(*x);
      if (const auto y = run_figure(study.y, *setting.config, *run)) ys.push_back(*y);
    }
    const auto cell = [&](const std::vector<double>& values) -> TableCell {
      if (runs.empty()) return {.text = to_string(result.run(s, 0).status)};
      const auto spread = spread_of(values);
      return spread ? TableCell{.text = spread->text(), .value = spread->mean} : TableCell{};
    };
    table.rows.push_back({{.text = study.series[setting.series].label},
                          {.text = plain_value(study.values[setting.value])},
                          cell(xs),
                          cell(ys),
                          {.text = concat(runs.size(), " of ", result.seeds)}});
  }
  return table;
}

}  // namespace

void add_slope(const Study& study, const StudyResult& result, StudyReport& report) {
  Table table{{{"series", "series", Better::neither, true},
               {"slope", "fitted slope"},
               {"low", "95 % from"},
               {"high", "to"},
               {"exponent", "theorem"},
               {"verdict", "verdict", Better::neither, true},
               {"points", "points"}},
              {}};
  Plot plot{.title = plot_title(figure_title(study.y) + " against " + figure_title(study.x)),
            .help =
                "Points: single runs. Line: least squares between the logarithms. Dotted: the "
                "theorem's exponent through the middle of the line.",
            .x = {.title = axis_title(study.x), .log = true},
            .y = {.title = axis_title(study.y), .log = true}};
  for (std::size_t i = 0; i < study.series.size(); ++i) {
    const auto& label = study.series[i].label;
    auto points = points_of(study, result, i);
    const auto law = fit_power_law(points.x, points.y);
    table.rows.push_back(slope_row(study, label, law, points.x.size()));
    if (law) {
      auto line = fitted_line(concat(label, ": slope ", number(law->slope)), points, *law, i);
      plot.series.push_back(theorem_line(line, study.exponent));
      plot.series.push_back(std::move(line));
      report.headline +=
          concat(report.headline.empty() ? "" : "; ", label, ": ", number(law->slope), " [",
                 number(law->low), ", ", number(law->high), "], theorem ", number(study.exponent),
                 ": ", slope_verdict(*law, study.exponent));
    }
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
                 "Steeper, flatter: it lies beyond, or short of it."}});
  report.tables.push_back(
      {.file = "points", .title = "Settings", .table = values_table(study, result)});
  if (!plot.series.empty()) report.figures.push_back({"slope", std::move(plot)});
  if (report.headline.empty()) report.headline = "no slope could be fitted";
}

}  // namespace porter
