// SPDX-License-Identifier: Apache-2.0
#include "grid/sweep_report.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "markup.hpp"
#include "report/heat_map.hpp"

namespace porter {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

GridRun run_of(std::size_t setting, std::uint64_t seed, double loss) {
  GridRun run{.setting = setting, .seed = seed, .status = RunEnd::finished};
  run.rows.emplace_back();
  run.rows[0].loss = loss;
  return run;
}

// A grid of two steps and two texts; the last setting diverges with its second seed. `extra` adds a
// third key with one value.
struct Sample {
  Sweep sweep;
  SweepResult result;

  explicit Sample(bool extra = false, double loss = 1) {
    sweep.keys = {"algorithm.step", "algorithm.clip"};
    if (extra) sweep.keys.push_back("model.lambda");
    sweep.metric = find_sweep_metric("loss");
    sweep.seeds = {1, 2};
    sweep.toml = "a < b";
    std::vector<std::vector<GridRun>> runs;
    for (const char* step : {"0.2", "0.1"})
      for (const char* clip : {"\"<linear>:1\"", "none"}) {
        const auto s = sweep.settings.size();
        GridSetting setting;
        setting.values = {step, clip};
        if (extra) setting.values.push_back("0.5");
        sweep.settings.push_back(setting);
        const double base = loss * static_cast<double>(4 - s);
        runs.push_back({run_of(s, 1, base), run_of(s, 2, base + 1)});
      }
    runs[3][1].status = RunEnd::diverged;
    runs[3][1].reason = "too <fast>";
    result = rank_settings(sweep, runs);
  }
};

TEST(SweepTable, TheBestComesFirstAndWhatDidNotFinishLast) {
  const Sample sample;
  const auto table = sweep_table(sample.sweep, sample.result);
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(sample.result.ranked[0].setting, 2U);
  EXPECT_EQ(sample.result.ranked[0].mean, 2.5);
  EXPECT_NEAR(*sample.result.ranked[0].stddev, std::sqrt(0.5), 1e-15);
  EXPECT_EQ(sample.result.ranked[3].setting, 3U);
  const auto text = table.to_text();
  EXPECT_NE(text.find("2.5*"), text.npos) << text;
  EXPECT_NE(text.find("1 of 2 seeds: too <fast>"), text.npos) << text;
  EXPECT_NE(text.find("<linear>:1"), text.npos) << text;
}

TEST(SweepTable, KeysKeepTheirSectionOnlyWhereTheyMust) {
  EXPECT_EQ(short_keys({"model.name", "algorithm.name", "algorithm.step"}),
            (std::vector<std::string>{"model.name", "algorithm.name", "step"}));
}

TEST(SweepPage, IsWholeAndEscapesWhatComesFromOutside) {
  const Sample sample;
  const auto page = sweep_page(sample.sweep, sample.result, "porter sweep 'a<b'", "out & in");
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(page.find("<linear>"), page.npos);
  EXPECT_NE(page.find("Not covered by epsilon"), page.npos);
  EXPECT_NE(page.find("loss by clip and step"), page.npos);
  EXPECT_NE(page.find("too &lt;fast&gt;"), page.npos);
  EXPECT_NE(page.find("'out &amp; in/best.toml'"), page.npos);
}

TEST(SweepPage, IsWholeWhereNothingFinished) {
  Sample sample;
  for (auto& setting : sample.result.ranked) setting.status = RunEnd::failed;
  const auto page = sweep_page(sample.sweep, sample.result, "porter sweep", "out");
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_NE(page.find("No setting finished"), page.npos);
}

TEST(SweepPlots, AHeatMapHasACellPerPairInAscendingOrder) {
  const Sample sample;
  const auto maps = sweep_heat_maps(sample.sweep, sample.result);
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].y, (std::vector<std::string>{"0.1", "0.2"}));
  EXPECT_EQ(maps[0].x, (std::vector<std::string>{"<linear>:1", "none"}));
  EXPECT_EQ(maps[0].cells[0].value, 2.5);
  EXPECT_TRUE(maps[0].cells[0].best);
  EXPECT_EQ(maps[0].cells[1].text, "diverged");
  EXPECT_EQ(maps[0].cells[3].value, 3.5);
}

TEST(SweepPlots, AKeyWithOneValueGetsNoPicture) {
  const Sample sample(true);
  EXPECT_EQ(sweep_heat_maps(sample.sweep, sample.result).size(), 1U);
  EXPECT_EQ(sweep_key_plots(sample.sweep, sample.result).size(), 1U) << "of the step";
}

TEST(HeatMap, EveryCellIsDrawnAndTheBestIsBrightest) {
  HeatMap map;
  map.title = "a < b";
  map.x = {"1", "2"};
  map.y = {"long label", "b"};
  map.cells = {{.value = 1.0, .best = true}, {.value = 2.0}, {.text = "failed"}, {}};
  const auto html = heat_map_html(map);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "<g><title>"), 4U);
  EXPECT_EQ(count_of(html, "best-cell"), 1U);
  EXPECT_EQ(count_of(html, "class=\"unfinished\""), 1U);
  EXPECT_EQ(count_of(html, "class=\"untried\""), 1U);
  EXPECT_NE(html.find("fill=\"#fde725\""), html.npos) << "yellow: the smallest value";
  map.higher_is_better = true;
  EXPECT_NE(heat_map_html(map), html);
}

TEST(HeatMap, ATextMayStandForTheValueAndColoursMayHaveARange) {
  HeatMap map;
  map.range = Range{0, 100};
  map.x = {"1", "2"};
  map.y = {"a"};
  map.higher_is_better = true;
  map.cells = {{.value = 50.0, .text = "half"}, {.value = 100.0, .text = "all"}};
  const auto html = heat_map_html(map);
  EXPECT_NE(html.find(">half</text>"), html.npos);
  EXPECT_NE(html.find("fill=\"#269089\""), html.npos) << "the middle colour";
  EXPECT_NE(html.find(">0</text>"), html.npos) << "the legend begins at 0";
}

// A gap would look like a value of its own.
TEST(HeatMap, WritesEitherAllValuesOrNone) {
  HeatMap map;
  map.y = {"a"};
  for (int i = 0; i < 24; ++i) {
    map.x.push_back(std::to_string(i));
    map.cells.push_back({.value = i == 0 ? 0.0 : 0.1234});
  }
  EXPECT_EQ(count_of(heat_map_html(map), "class=\"cell"), 0U);
  map.x.resize(4);
  map.cells.resize(4);
  EXPECT_EQ(count_of(heat_map_html(map), "class=\"cell"), 4U);
}

TEST(HeatMap, ColoursGoByFactorsWhereValuesSpanADecade) {
  HeatMap map;
  map.x = {"1", "2", "3"};
  map.y = {"a"};
  map.cells = {{.value = 1.0}, {.value = 4.0}, {.value = 9.0}};
  EXPECT_EQ(heat_map_html(map).find("by factors"), std::string::npos);
  map.cells = {{.value = 1.0}, {.value = 10.0}, {.value = 100.0}};
  const auto html = heat_map_html(map);
  EXPECT_NE(html.find("by factors, half way at 10"), html.npos);
  // The middle value has the middle colour: half way between the third and the fourth of six.
  EXPECT_NE(html.find("fill=\"#269089\""), html.npos) << html;
  map.cells[0].value = -1.0;
  EXPECT_EQ(heat_map_html(map).find("by factors"), std::string::npos);
}

}  // namespace
}  // namespace porter
