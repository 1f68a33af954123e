// SPDX-License-Identifier: Apache-2.0
#include "porter/core/error.hpp"
#include "porter/privacy/clip.hpp"
#include "porter/version.hpp"
#include "reproduce/closed_forms.hpp"

namespace porter {

StudyReport clipping_report() {
  constexpr int kPoints = 200;
  constexpr double kLongest = 5;  // in units of tau
  StudyReport report{
      .name = "fig1",
      .title = "Figure 1: the two clipping operators",
      .about =
          "The norm of a vector before and after clipping with tau = 1, computed by the code "
          "that clips gradients. Smooth: x tau / (tau + |x|), Definition 2. Piece-wise "
          "linear: x min(1, tau / |x|). The paper says that they behave quite similarly; "
          "at |x| = tau they differ by a factor of two.",
      .command = "porter reproduce fig1"};
  report.meta = std::string("porter ") + kVersion;
  Plot plot{.title = "Norm after clipping",
            .help = "tau = 1. Both stay below tau; the smooth one shortens every vector.",
            .x = {.title = "norm before, in units of tau", .offer_log = false},
            .y = {.title = "norm after, in units of tau", .offer_log = false}};
  Table table{{{"norm", "norm before"}, {"smooth", "smooth"}, {"linear", "piece-wise linear"}}};
  const Clip smooth = parse_clip("smooth:1"), linear = parse_clip("linear:1");
  plot.series = {{.name = "smooth", .style = 0}, {.name = "piece-wise linear", .style = 1}};
  for (int i = 0; i <= kPoints; ++i) {
    const double norm = kLongest * i / kPoints;
    const double after[] = {norm * smooth.factor(norm), norm * linear.factor(norm)};
    for (std::size_t s = 0; s < 2; ++s) {
      plot.series[s].x.push_back(norm);
      plot.series[s].y.push_back(after[s]);
    }
    if (i % (kPoints / 10) != 0) continue;
    auto& row = table.rows.emplace_back();
    for (const double value : {norm, after[0], after[1]})
      row.push_back({.text = concat(value), .value = value});
  }
  plot.references = {{"tau", 1}};
  report.headline = "smooth clipping halves a vector of norm tau, piece-wise linear keeps it";
  report.tables.push_back({.file = "clipping", .title = "Norms", .table = std::move(table)});
  report.figures.push_back({"clipping", std::move(plot)});
  return report;
}

}  // namespace porter
