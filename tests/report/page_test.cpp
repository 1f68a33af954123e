// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <gtest/gtest.h>

#include "markup.hpp"
#include "sample_run.hpp"

namespace porter {
namespace {

std::string page_of(const std::vector<Trace>& traces) {
  return html_report({.title = "Title", .intro = "Intro."}, each_alone(traces));
}

TEST(MarkupChecker, FindsFaults) {
  EXPECT_EQ(markup_fault("<!DOCTYPE html><p a=\"1>2\">x &lt; y<br/></p>"), "");
  for (const char* bad : {"<p>", "</p>", "<p><b></p></b>", "a < b", "a & b", "<p a=1></p>",
                          "<path d=\"M1 nan\"/>", "<circle cx=\"inf\"/>", "<p a=\"></p>", "x>y"})
    EXPECT_NE(markup_fault(bad), "") << bad;
}

TEST(Page, IsWellFormedAndCompleteForOrdinaryRuns) {
  const auto page = page_of({sample_trace("a"), sample_trace("b")});
  EXPECT_EQ(markup_fault(page), "");
  // Loss, accuracy and consensus error by round, bytes and time; two of single agents. Three
  // evaluations are too few for a utility.
  EXPECT_EQ(count(page, "<figure class=\"plot\""), 3U * 3 + 2);
  EXPECT_EQ(count(page, "class=\"tabs\""), 3U);
  EXPECT_TRUE(contains(page, "No utility is shown for a and b"));
  EXPECT_TRUE(contains(page, "majority class 0.760"));
  EXPECT_TRUE(contains(page, "Not private: no noise was added."));
  EXPECT_TRUE(contains(page, "porter run runs/a/config.toml --out runs/a-again"));
  EXPECT_TRUE(contains(page, "seed = 1"));
  EXPECT_EQ(page, page_of({sample_trace("a"), sample_trace("b")}));
}

TEST(Page, LoadsNothingFromElsewhere) {
  auto trace = sample_trace("a");
  trace.graph_svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
  const auto page = page_of({trace});
  for (const char* link : {"http://", "https://", "<link", "@import", "url("})
    EXPECT_FALSE(contains(page, link)) << link;
}

TEST(Page, EscapesEverythingFromTheRunFolder) {
  const std::string evil = "</script><script>alert('x')</script>&\"";
  auto trace = sample_trace("a", "round,loss,utility\n1,1,1\n2,2,2\n");
  trace.name = trace.status = trace.privacy.sentence = trace.config = trace.graph_svg = evil;
  trace.folder = evil;
  for (auto& [key, text] : trace.facts) text = evil;
  const auto page =
      html_report({.title = evil, .intro = evil, .sources = {evil}}, each_alone({trace}));
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_FALSE(contains(page, "<script>alert"));
  const auto plain =
      html_report({.title = "t", .intro = "i", .sources = {"s"}}, each_alone({sample_trace("a")}));
  EXPECT_EQ(count(page, "<script>"), count(plain, "<script>"));
}

TEST(Page, ManagesMissingFiguresAndRunsWithoutRows) {
  auto bare = sample_trace("bare", "round,loss,test_accuracy,bits_per_agent\n0,1,,0\n5,0.5,,10\n");
  bare.facts.clear();
  bare.privacy.sentence = bare.config = "";
  const auto page = page_of({bare, sample_trace("early", "round,loss\n")});
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(count(page, "<figure class=\"plot\""), 2U);  // loss by round, loss by communication
  EXPECT_TRUE(contains(page, "Left out, as no run has the figures: Utility, Test accuracy, "));
  EXPECT_TRUE(contains(page, "No statement about privacy"));
  EXPECT_FALSE(contains(page, "<dd>–</dd>")) << "what is not known is not listed";
  EXPECT_TRUE(contains(page, "Its facts are written when it ends."));
  EXPECT_EQ(markup_fault(page_of({})), "");
}

TEST(Page, ShowsErrorsAndR2InPlaceOfAccuraciesForARegression) {
  const auto regression = sample_trace(
      "r",
      "round,loss,test_accuracy,consensus_error,bits_per_agent,train_rmse,test_rmse,test_r2,"
      "agent_r2_mean,agent_r2_worst\n0,1,,0,0,2,2,-0.5,-0.5,-0.5\n5,0.5,,1,10,1,1.5,0.25,0.2,0."
      "1\n");
  const auto page = page_of({regression});
  EXPECT_EQ(markup_fault(page), "");
  for (const char* title : {"Test RMSE by round", "Test R2 by round", "Test R2 of single agents"})
    EXPECT_TRUE(contains(page, title)) << title;
  EXPECT_FALSE(contains(page, "Test accuracy by round"));
  EXPECT_TRUE(contains(page, "test R2"));  // a column of the table
  EXPECT_FALSE(contains(page_of({sample_trace("a")}), "R2"));
  const auto both = page_of({regression, sample_trace("a")});
  EXPECT_TRUE(contains(both, "Test accuracy by round"));
  EXPECT_TRUE(contains(both, "Test R2 by round"));
}

TEST(Page, ShowsADivergedRunBesideAGoodOne) {
  auto wild = sample_trace("wild",
                           "round,loss,utility,consensus_error,bits_per_agent\n0,1,1,0,0\n"
                           "1,1e200,3,1e9,10\n2,nan,inf,nan,20\n");
  wild.status = "diverged";
  for (const auto& page : {page_of({wild}), page_of({wild, sample_trace("good")})}) {
    EXPECT_EQ(markup_fault(page), "");
    EXPECT_TRUE(contains(page, "without a finite value left out"));
    EXPECT_TRUE(contains(page, "wild diverged"));
  }
}

TEST(Page, OnlyALivePageAsksForMore) {
  const auto traces = each_alone({sample_trace("a")});
  const auto still = html_report({.title = "t"}, traces);
  const auto live = html_report({.title = "t", .live = true}, traces);
  EXPECT_EQ(markup_fault(live), "");
  for (const char* part : {"connect-src 'self'", "fetch(", "class=\"live\""}) {
    EXPECT_FALSE(contains(still, part)) << part;
    EXPECT_TRUE(contains(live, part)) << part;
  }
  EXPECT_EQ(html_report({.title = "t", .live = true}, traces), live) << "no time in it";
}

TEST(Page, ShowsAgentsThatAreUnderWay) {
  const AgentState agent{.name = "a<b",
                         .state = "training",
                         .round = 12345,
                         .rounds = 20000,
                         .bytes_out = 5e6,
                         .epsilon = 0.51234,
                         .waiting_for = "c"};
  const auto page = html_report({.title = "t", .sources = {"none < yet"}}, {}, std::vector{agent});
  EXPECT_EQ(markup_fault(page), "");
  for (const char* part :
       {"a&lt;b", "12345", "5.0MB", "0.5124", "none &lt; yet", "1 agent · porter"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "id=\"summary\""));
}

TEST(Page, SeedsAreOneLineWithABand) {
  auto one = sample_trace("a-1"), two = sample_trace("a-2");
  two.config = "[run]\nseed = 2\n";
  const auto page = html_report({.title = "t"}, group_by_seed({one, two}));
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_TRUE(contains(page, "a (2 seeds)"));
  EXPECT_TRUE(contains(page, "band: least to largest"));
  EXPECT_FALSE(contains(page, "\"name\":\"a-2\"")) << "no line of its own";
  EXPECT_TRUE(contains(page, "2 runs"));
}

// Held against sums by hand: the rounds that both seeds have, the least and the largest of each.
TEST(Page, LinesOverSeedsAreMeansOverTheRoundsThatAllHave) {
  const std::string head = "round,loss,bits_per_agent,seconds\n";
  auto one = sample_trace("a-1", head + "0,4,0,0\n5,2,80,1\n10,1,160,2\n20,1,320,4\n");
  auto two = sample_trace("a-2", head + "0,2,0,0\n10,3,176,4\n20,,352,8\n");
  two.config = "[run]\nseed = 2\n";
  const auto plots = page_plots(group_by_seed({one, two}));
  ASSERT_EQ(plots.figures.size(), 1U) << "there is only a loss";
  const auto& tabs = plots.figures[0];
  ASSERT_EQ(tabs.size(), 3U);
  const std::vector<double> expected_x[] = {{0, 10}, {0, 21}, {0, 3}};
  for (std::size_t i = 0; i < tabs.size(); ++i) {
    SCOPED_TRACE(tabs[i].tab);
    ASSERT_EQ(tabs[i].plot.series.size(), 1U);
    const auto& line = tabs[i].plot.series[0];
    EXPECT_EQ(line.x, expected_x[i]);
    EXPECT_EQ(line.y, (std::vector<double>{3, 2}));
    EXPECT_EQ(line.band_low, (std::vector<double>{2, 1}));
    EXPECT_EQ(line.band_high, (std::vector<double>{4, 3}));
  }
}

TEST(Page, EndsWithoutAWayThereAreBars) {
  const std::string head = "round,loss,test_accuracy\n";
  auto wild = sample_trace("wild", head + "9,1e200,0.1\n");
  wild.status = "diverged";
  const auto groups = each_alone({sample_trace("a", head + "9,0.5,0.7\n"), wild});
  const auto plots = page_plots(groups);
  EXPECT_TRUE(plots.figures.empty());
  ASSERT_EQ(plots.charts.size(), 2U);
  EXPECT_EQ(plots.charts[0].bars[0].value, 0.5);
  EXPECT_FALSE(plots.charts[0].bars[1].value);
  EXPECT_EQ(plots.charts[0].bars[1].text, "diverged");
  EXPECT_EQ(markup_fault(html_report({.title = "t"}, groups)), "");
}

// A straight line between the first and the last evaluation is no curve.
TEST(Page, TwoEvaluationsAreMarksWithoutALine) {
  const auto plots =
      page_plots(each_alone({sample_trace("ends",
                                          "round,loss,agent_loss_mean,agent_loss_worst\n"
                                          "0,1,1,1\n9,0.5,0.6,0.7\n")}));
  ASSERT_EQ(plots.figures.size(), 2U);
  for (const auto& figure : plots.figures)
    for (const auto& series : figure[0].plot.series) EXPECT_TRUE(series.points) << series.name;
  EXPECT_TRUE(contains(plots.figures[1][0].plot.help, "hollow"));
  const auto curves = page_plots(each_alone({sample_trace("a")}));
  for (const auto& series : curves.figures[0][0].plot.series) EXPECT_FALSE(series.points);
}

TEST(Page, FactsReadWell) {
  auto trace = sample_trace("a");
  trace.facts["threads"] = "0";
  trace.facts["bytes_sent_per_agent"] = "1120000";
  trace.facts["clip"] = "none";
  trace.facts["clip_target"] = "sample";
  const auto page = page_of({trace});
  for (const char* text : {"one per core", "<dd>1.1M</dd>", "<dd>1.25 ms</dd>"})
    EXPECT_TRUE(contains(page, text)) << text;
  EXPECT_FALSE(contains(page, "clipped per"));
}

TEST(Page, FoldsTheFactsOfManyRuns) {
  std::vector<Trace> traces;
  for (int i = 0; i < 9; ++i) traces.push_back(sample_trace("r" + std::to_string(i)));
  const auto page = page_of(traces);
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(count(page, "<article class=\"folded\">"), 9U);
  traces.pop_back();
  EXPECT_EQ(count(page_of(traces), "<article class=\"folded\">"), 0U);
}

TEST(Page, ShowsEachGraphOnce) {
  auto a = sample_trace("a"), b = sample_trace("b"), c = sample_trace("c");
  a.graph_svg = b.graph_svg = "<svg>1</svg>";
  c.graph_svg = "<svg>2</svg>";
  EXPECT_EQ(count(page_of({a, b, c}), "<img"), 2U);
}

}  // namespace
}  // namespace porter
