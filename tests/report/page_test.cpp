// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <gtest/gtest.h>

#include "markup.hpp"
#include "sample_run.hpp"

namespace porter {
namespace {

std::string page_of(const std::vector<Trace>& traces) {
  return html_report("Title", "Intro.", traces);
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
  EXPECT_EQ(count(page, "<figure class=\"plot\""), 10U);
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
  const auto page = html_report(evil, evil, std::vector{trace});
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_FALSE(contains(page, "<script>alert"));
  const auto plain = html_report("t", "i", std::vector{sample_trace("a")});
  EXPECT_EQ(count(page, "<script>"), count(plain, "<script>"));
}

TEST(Page, ManagesMissingFiguresAndRunsWithoutRows) {
  auto bare = sample_trace("bare", "round,loss,test_accuracy,bits_per_agent\n0,1,,0\n5,0.5,,10\n");
  bare.facts.clear();
  bare.privacy.sentence = bare.config = "";
  const auto page = page_of({bare, sample_trace("early", "round,loss\n")});
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(count(page, "<figure class=\"plot\""), 2U);  // loss by round, loss by communication
  EXPECT_TRUE(contains(page, "Left out, as no run has the figures: Utility by round"));
  EXPECT_TRUE(contains(page, "No statement about privacy"));
  EXPECT_TRUE(contains(page, "<dd>–</dd>"));
  EXPECT_EQ(markup_fault(page_of({})), "");
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

TEST(Page, ShowsEachGraphOnce) {
  auto a = sample_trace("a"), b = sample_trace("b"), c = sample_trace("c");
  a.graph_svg = b.graph_svg = "<svg>1</svg>";
  c.graph_svg = "<svg>2</svg>";
  EXPECT_EQ(count(page_of({a, b, c}), "<img"), 2U);
}

}  // namespace
}  // namespace porter
