// SPDX-License-Identifier: Apache-2.0
#include "report/bar_chart.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

BarChart example() {
  return {.title = "T <b>",
          .help = "h",
          .value_title = "v",
          .bars = {{.label = "half", .value = 0.5, .low = 0.4, .high = 0.6, .text = "0.5 ± 0.1"},
                   {.label = "none, \"quoted\"", .text = "diverged"},
                   {.label = std::string(100, 'a') + "ü", .value = 1, .low = 1, .high = 1}},
          .references = {{"majority", 0.25}}};
}

TEST(BarChart, DrawsABarForEachValueAndSaysWhereThereIsNone) {
  const auto html = bar_chart_html(example());
  std::size_t bars = 0;
  for (auto at = html.find("class=\"bar\""); at != html.npos;
       at = html.find("class=\"bar\"", at + 1))
    ++bars;
  EXPECT_EQ(bars, 2U * 2) << "in the wide drawing and in the narrow one";
  for (const char* part : {"diverged", "0.5 ± 0.1", "majority", "aaa…", "T &lt;b&gt;"})
    EXPECT_NE(html.find(part), html.npos) << part;
  EXPECT_EQ(html.find("<b>"), html.npos);
}

// Cut labels of settings would all look alike.
TEST(BarChart, LongLabelsStandAboveTheirBarsInFull) {
  BarChart chart{.title = "t", .help = "", .value_title = "v"};
  const std::string start = "batch = 1, consensus = 0.005, step = ";
  for (const char* step : {"0.001", "0.004959"})
    chart.bars.push_back({.label = start + step, .value = 1, .low = 1, .high = 1, .text = "1"});
  EXPECT_NE(svg_file(chart).find(start + "0.004959</text>"), std::string::npos);
}

TEST(BarChart, AsAFileItNeedsNoStyleSheet) {
  const auto svg = svg_file(example());
  EXPECT_EQ(svg.find("<svg xmlns="), 0U);
  EXPECT_EQ(svg.find("var("), svg.npos);
}

TEST(BarChart, ItsPointsAreCsv) {
  const auto csv = points_csv(example());
  EXPECT_EQ(csv.find("series,y,low,high\nhalf,0.5,0.4,0.6\n\"none, \"\"quoted\"\"\",,,\naaa"), 0U)
      << csv;
}

TEST(BarChart, SurvivesWithoutAnyValue) {
  auto chart = example();
  for (auto& bar : chart.bars) bar.value = {};
  chart.references.clear();
  EXPECT_EQ(bar_chart_html(chart).find("nan"), std::string::npos);
}

TEST(PlotWithNames, StandsItsPointsAtTheirNames) {
  Plot plot{
      .title = "t", .help = "", .x = {.title = "graph", .offer_log = false}, .y = {.title = "y"}};
  plot.x.labels = {"ring", "a<b"};
  plot.series = {{.name = "s", .x = {1, 2}, .y = {3, 4}}};
  const auto svg = draw(plot, {}).svg;
  EXPECT_NE(svg.find(">ring</text>"), svg.npos);
  EXPECT_NE(svg.find(">a&lt;b</text>"), svg.npos);
  EXPECT_EQ(points_csv(plot), "series,x,y,low,high\ns,ring,3,,\ns,a<b,4,,\n");
}

}  // namespace
}  // namespace porter
