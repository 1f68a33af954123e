// SPDX-License-Identifier: Apache-2.0
#include "report/plot.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "markup.hpp"
#include "porter/core/rng.hpp"
#include "report/scale.hpp"

namespace porter {
namespace {

constexpr double kNan = NAN, kInf = INFINITY;

Plot plot_of(std::vector<double> x, std::vector<double> y) {
  Plot plot;
  plot.series = {{.name = "a<b", .x = std::move(x), .y = std::move(y)}};
  return plot;
}

std::string labels(const Scale& scale) {
  std::string out;
  for (const auto& tick : scale.ticks(6)) out += (out.empty() ? "" : " ") + tick.label;
  return out;
}

TEST(Scale, TicksAreRoundNumbers) {
  EXPECT_EQ(labels({0, 1000, false}), "0 200 400 600 800 1000");
  EXPECT_EQ(labels({-1, 1, false}), "-1.0 -0.5 0 0.5 1.0");
  EXPECT_EQ(labels({0.481, 0.852, false}), "0.50 0.55 0.60 0.65 0.70 0.75 0.80 0.85");
  EXPECT_EQ(labels({0, 3.9e6, false}), "0 0.5M 1.0M 1.5M 2.0M 2.5M 3.0M 3.5M");
  EXPECT_EQ(labels({0, 2e-5, false}), "0 0.5×10⁻⁵ 1.0×10⁻⁵ 1.5×10⁻⁵ 2.0×10⁻⁵");
  EXPECT_EQ(labels({1, 1e5, true}), "1 10 100 1000 10⁴ 10⁵");
  EXPECT_EQ(labels({0.3, 8, true}), "0.5 1 2 5");
  EXPECT_EQ(labels({1e-30, 1, true}), "10⁻³⁰ 10⁻²⁵ 10⁻²⁰ 10⁻¹⁵ 10⁻¹⁰ 10⁻⁵ 1");
  EXPECT_EQ(labels({0.31, 0.39, true}), "0.31 0.32 0.33 0.34 0.35 0.36 0.37 0.38 0.39");
}

TEST(Scale, AnyRangeHasAFewTicksInsideItInOrder) {
  RngStream rng(1, Draw::test, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    const bool log = rng.below(2) == 0;
    double low = std::pow(10.0, 200 * rng.uniform() - 100), high = low;
    if (rng.below(8) > 0) high *= 1 + std::pow(10.0, 20 * rng.uniform() - 16);
    if (!log && rng.below(3) == 0) low = -low;
    high = std::min(high, kLargest);
    const auto scale = make_scale(low, high, log, 0.05);
    SCOPED_TRACE(testing::Message() << low << " to " << high << (log ? " log" : ""));
    const auto ticks = scale.ticks(6);
    ASSERT_GE(ticks.size(), 2U);
    ASSERT_LE(ticks.size(), 10U);
    for (std::size_t t = 0; t < ticks.size(); ++t) {
      // A tick may stand on the edge up to the rounding of its own value.
      ASSERT_GE(scale.place(ticks[t].value), -1e-6);
      ASSERT_LE(scale.place(ticks[t].value), 1 + 1e-6);
      if (t > 0) {
        ASSERT_LT(ticks[t - 1].value, ticks[t].value);
        ASSERT_NE(ticks[t - 1].label, ticks[t].label);
      }
    }
    for (const double value : {low, high}) {
      ASSERT_GE(scale.place(value), -1e-9);
      ASSERT_LE(scale.place(value), 1 + 1e-9);
    }
  }
}

TEST(Plot, DrawsOddDataWithFiniteNumbers) {
  const std::vector<Plot> plots = {
      plot_of({}, {}),
      plot_of({3}, {4}),
      plot_of({0}, {0}),
      plot_of({1, 2, 3}, {5, 5, 5}),
      plot_of({1, 2, 3}, {0, 0, 0}),
      plot_of({1, 2, 3}, {-2, -2, -2}),
      plot_of({1, 2, 3}, {1, kNan, 2}),
      plot_of({1, 2, 3}, {1, 1e308, -1e308}),
      plot_of({1, 2, 3}, {kInf, -kInf, kNan}),
      plot_of({1, 2, 3}, {1e-320, 5e-324, 0}),
      plot_of({1e99, 1e100}, {1e-99, 1e100}),
      plot_of({1, 2}, {1, 1 + 1e-16}),
  };
  for (const auto& plot : plots)
    for (const LogAxes log : {LogAxes{false, false}, {true, false}, {false, true}, {true, true}}) {
      const auto drawing = draw(plot, log);
      EXPECT_EQ(markup_fault(drawing.svg), "") << drawing.svg;
      EXPECT_EQ(drawing.points.size(), plot.series.size());
    }
}

TEST(Plot, SinglePointsAreMarksAndGapsAreNotBridged) {
  EXPECT_EQ(count(draw(plot_of({3}, {4}), {}).svg, "class=\"mark"), 1U);
  const auto svg = draw(plot_of({1, 2, 3, 4, 5}, {1, 2, kNan, 2, 1}), {}).svg;
  const auto line = svg.substr(svg.find("class=\"line"));
  EXPECT_EQ(count(line.substr(0, line.find("/>")), "M"), 2U) << svg;
}

// A straight line between two measurements is not one.
TEST(Plot, FewPointsAreMarked) {
  std::vector<double> x, y;
  for (std::size_t i = 0; i < Series::kFewPoints + 1; ++i) {
    x.push_back(static_cast<double>(i));
    y.push_back(1);
    const auto svg = draw(plot_of(x, y), {}).svg;
    EXPECT_EQ(count(svg, "class=\"mark"), i < Series::kFewPoints ? i + 1 : 0) << i;
    EXPECT_EQ(count(svg, "class=\"line"), i == 0 ? 0U : 1U) << i;
  }
  auto plot = plot_of({1, 2}, {1, 2});
  plot.series[0].companion = true;
  EXPECT_EQ(count(draw(plot, {}).svg, "class=\"mark"), 0U);
}

TEST(Plot, MarksThatNoLineJoinsHaveStrokesForABand) {
  auto plot = plot_of({1, 2}, {1, 2});
  plot.series[0].band_low = {0.5, 1.5};
  plot.series[0].band_high = {1.5, 2.5};
  plot.series[0].unjoin_ends();
  const auto svg = draw(plot, {}).svg;
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count(svg, "class=\"mark"), 2U);
  EXPECT_EQ(count(svg, "class=\"spread"), 1U);
  EXPECT_EQ(count(svg, "class=\"line") + count(svg, "class=\"band"), 0U);
  auto longer = plot_of({1, 2, 3}, {1, 2, 3});
  longer.series[0].unjoin_ends();
  EXPECT_EQ(count(draw(longer, {}).svg, "class=\"line"), 1U);
}

TEST(Plot, ALineThatNobodyMeasuredHasNoMarks) {
  auto plot = plot_of({1, 2}, {1, 2});
  plot.series[0].computed = true;
  const auto svg = draw(plot, {}).svg;
  EXPECT_EQ(count(svg, "class=\"mark"), 0U);
  EXPECT_EQ(count(svg, "class=\"line"), 1U);
}

TEST(Plot, LabelsOfNearReferencesDoNotCoverEachOther) {
  auto plot = plot_of({0, 1}, {0, 1});
  plot.references = {{"low", 0.5}, {"high", 0.503}, {"third", 0.506}, {"far", 0.9}};
  const auto svg = draw(plot, {}).svg;
  EXPECT_EQ(count(svg, "class=\"reference\""), 4U);
  EXPECT_EQ(count(svg, "class=\"reference-label\""), 3U) << "above, below, and the far one";
  EXPECT_TRUE(contains(svg, "<title>third</title>"));
}

TEST(Plot, SaysWhatALogarithmicAxisCannotShow) {
  const auto plot = plot_of({0, 1, 2, 3}, {1, 0, -1, 2});
  EXPECT_EQ(draw(plot, {}).note, "");
  EXPECT_EQ(draw(plot, {.y = true}).note,
            "2 points at or below zero cannot stand on a logarithmic axis.");
  EXPECT_EQ(draw(plot, {.y = true}).points[0], (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(draw(plot_of({1, 2}, {0, 0}), {.y = true}).note,
            "a<b has nothing above zero to show on a logarithmic axis.");
  EXPECT_EQ(draw(plot_of({1, 2}, {1, kInf}), {}).note, "1 point without a finite value left out.");
}

TEST(Plot, DivergedRunDoesNotStretchTheAxis) {
  auto plot = plot_of({0, 1, 2}, {1, 0.9, 0.8});
  plot.series.push_back(
      {.name = "wild", .x = {0, 1, 2}, .y = {1, 0.9, 1e30}, .style = 1, .diverged = true});
  const auto drawing = draw(plot, {});
  EXPECT_EQ(drawing.note, "wild leaves the axis.");
  EXPECT_EQ(count(drawing.svg, "class=\"cross"), 1U);
  EXPECT_TRUE(contains(drawing.svg, ">0.80</text>")) << drawing.svg;
}

TEST(Plot, ThinsDenseLinesButKeepsTheExtremes) {
  std::vector<double> x, y;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(i);
    y.push_back(std::sin(i * 0.37));
  }
  y[54321] = 50;
  const auto drawing = draw(plot_of(x, y), {});
  const auto& kept = drawing.points[0];
  EXPECT_LT(kept.size(), 2000U);  // four for each of fewer than 500 pixel columns
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 54321U));
}

TEST(Figure, OffersTheViewsItsAxesAllow) {
  auto plot = plot_of({1, 2}, {1, 2});
  plot.y = {.title = "accuracy", .offer_log = false};
  plot.references = {{"majority & more", 0.5}};
  const auto html = figure_html(plot, "p1");
  EXPECT_EQ(markup_fault(html), "") << html;
  EXPECT_EQ(count(html, "class=\"view"), 2U);
  EXPECT_EQ(count(html, "<label"), 1U);
  EXPECT_TRUE(contains(html, "majority &amp; more"));
  EXPECT_TRUE(contains(html, "\"name\":\"a\\u003cb\",\"x\":[1,2],\"y\":[1,2]"));
  plot.y.offer_log = true;
  EXPECT_EQ(count(figure_html(plot, "p1"), "class=\"view"), 4U);
}

TEST(Figure, TabsShowOneOfSeveralWithoutAScript) {
  const auto plot = plot_of({1, 2}, {1, 2});
  EXPECT_EQ(tabs_html({{"by round", plot}}, "p"), figure_html(plot, "p"));
  const auto html = tabs_html({{"by <round>", plot}, {"by time", plot}}, "p");
  EXPECT_EQ(markup_fault(html), "") << html;
  EXPECT_EQ(count(html, "type=\"radio\" name=\"p\""), 2U);
  EXPECT_EQ(count(html, "class=\"panel\""), 2U);
  EXPECT_EQ(count(html, "-tab\" checked"), 1U);
  EXPECT_TRUE(contains(html, "by &lt;round&gt;"));
}

TEST(Figure, BandsFollowTheLine) {
  auto plot = plot_of({1, 2, 3}, {1, 2, 3});
  plot.series[0].band_low = {0.5, kNan, 2};
  plot.series[0].band_high = {1, 2, 3};
  const auto svg = draw(plot, {}).svg;
  EXPECT_EQ(count(svg, "class=\"band"), 1U);
  EXPECT_EQ(markup_fault(svg), "");
}

}  // namespace
}  // namespace porter
