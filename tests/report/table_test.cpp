// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "markup.hpp"
#include "report/page.hpp"
#include "report/text.hpp"
#include "sample_run.hpp"

namespace porter {
namespace {

Table small_table() {
  Table table;
  table.columns = {{.key = "run", .title = "run", .is_text = true},
                   {.key = "loss", .title = "loss"},
                   {.key = "none", .title = "never shown"}};
  table.rows = {{{.text = "größe, \"a\""}, {.text = "0.5", .value = 0.5, .best = true}, {}},
                {{.text = "日本|<b>"}, {.text = "12.25", .value = 12.25}, {}}};
  return table;
}

TEST(Table, AlignsTextByDisplayWidth) {
  EXPECT_EQ(small_table().to_text(),
            "run          loss\n"
            "──────────────────\n"
            "größe, \"a\"    0.5*\n"
            "日本|<b>    12.25\n");
}

TEST(Table, EscapesWhatEachFormatReserves) {
  const auto table = small_table();
  EXPECT_EQ(table.to_markdown(),
            "| run | loss |\n|---|---:|\n| größe, \"a\" | **0.5** |\n| 日本\\|\\<b> | 12.25 |\n");
  EXPECT_EQ(table.to_csv(), "run,loss,none\n\"größe, \"\"a\"\"\",0.5,\n日本|<b>,12.25,\n");
  const auto json = nlohmann::json::parse(table.to_json());
  EXPECT_EQ(json[1]["run"], "日本|<b>");
  EXPECT_EQ(json[0]["loss"], 0.5);
  EXPECT_TRUE(json[0]["none"].is_null());
  EXPECT_EQ(markup_fault(table.to_html()), "");
}

TEST(DisplayWidth, CountsTerminalColumns) {
  for (const auto& [text, width] : {std::pair{"", 0U},
                                    {"abc", 3U},
                                    {"ε≤", 2U},
                                    {"日本", 4U},
                                    {"e\u0301", 1U},
                                    {"\xff\xc3", 2U}})
    EXPECT_EQ(display_width(text), width) << text;
}

TEST(Format, ShortensNumbers) {
  for (const auto& [value, text] : {std::pair{0.0, "0"},
                                    {9999.0, "9999"},
                                    {38400.0, "38.4k"},
                                    {384e3, "384k"},
                                    {4e6, "4.0M"},
                                    {2.5e13, "25.0T"}})
    EXPECT_EQ(format_si(value), text);
  EXPECT_EQ(format_seconds(0.00125), "1.25 ms");
  EXPECT_EQ(format_seconds(2e-6), "2 µs");
  EXPECT_EQ(format_seconds(61), "61 s");
  EXPECT_EQ(format_power(2, -15), "2×10⁻¹⁵");
}

std::vector<std::string> best_runs(const Table& table, const std::string& key) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    for (const auto& row : table.rows)
      if (table.columns[c].key == key && row[c].best) names.push_back(row[0].text);
  return names;
}

TEST(Compare, MarksTheBestOfRunsThatDidNotDiverge) {
  const std::string head = "round,loss,test_accuracy,bits_per_agent\n";
  std::vector<Trace> traces = {sample_trace("a", head + "9,0.5,0.7,100\n"),
                               sample_trace("b", head + "9,0.4,0.6,100\n"),
                               sample_trace("wild", head + "9,0.1,nan,100\n")};
  traces[2].status = "diverged";
  const auto table = compare_runs(each_alone(traces));
  EXPECT_EQ(best_runs(table, "loss"), std::vector<std::string>{"b"});
  EXPECT_EQ(best_runs(table, "test_accuracy"), std::vector<std::string>{"a"});
  EXPECT_TRUE(best_runs(table, "bits_per_agent").empty()) << "all are equal";
  EXPECT_TRUE(nlohmann::json::parse(table.to_json())[2]["test_accuracy"].is_null());
}

TEST(Compare, MarksAllThatReadAsGoodAsTheBest) {
  const std::string head = "round,test_accuracy\n";
  const auto table = compare_runs(
      each_alone({sample_trace("a", head + "9,0.76381\n"), sample_trace("b", head + "9,0.76377\n"),
                  sample_trace("c", head + "9,0.7\n")}));
  EXPECT_EQ(best_runs(table, "test_accuracy"), (std::vector<std::string>{"a", "b"}));
}

TEST(Compare, MarksNoBestOfRunsOfDifferentData) {
  const std::string head = "round,loss\n";
  std::vector<Trace> traces = {sample_trace("a", head + "9,0.5\n"),
                               sample_trace("b", head + "9,0.4\n")};
  traces[0].facts["data"] = traces[1].facts["data"] = "a9a";
  EXPECT_TRUE(contains(comparison_text(each_alone(traces), false), "*: best of"));
  traces[1].facts["data"] = "mnist";
  const auto text = comparison_text(each_alone(traces), false);
  EXPECT_FALSE(contains(text, "*")) << text;
  EXPECT_TRUE(contains(text, "No best is marked: these runs are of different data."));
}

// What is certified is never printed smaller than it is.
TEST(Text, RoundsAwayFromPromisesThatDoNotHold) {
  EXPECT_EQ(rounded_up(0.1), "0.1");
  EXPECT_EQ(rounded_up(1.23441, 4), "1.235");
  EXPECT_EQ(rounded_down(1.23449, 4), "1.234");
  EXPECT_EQ(rounded_up(9.9999941), "10");
  EXPECT_EQ(rounded_up(0), "0");
  EXPECT_EQ(rounded_up(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(rounded_up(std::numeric_limits<double>::denorm_min()), "4.94066e-324");
  for (double value = 1e-12; value < 1e12; value *= 1.37)
    for (const double near : {value, std::stod(rounded_up(value))})
      for (const double other : {near, std::nextafter(near, 0), std::nextafter(near, 1e300)}) {
        EXPECT_GE(std::stod(rounded_up(other)), other);
        EXPECT_LE(std::stod(rounded_down(other)), other);
        EXPECT_LE(std::stod(rounded_up(other)), other * (1 + 1.1e-5));
      }
}

TEST(Compare, NoEpsilonIsShownSmallerThanItIs) {
  auto trace = sample_trace("a");
  trace.privacy.epsilon = {{.lower = 1.23449, .upper = 1.23541, .method = "m"}};
  EXPECT_TRUE(contains(compare_runs(each_alone({trace})).to_text(), "1.236"));
  EXPECT_TRUE(contains(html_report({.title = "Title"}, each_alone({trace})), "1.234 to 1.236"));
}

TEST(Compare, LeavesOutColumnsThatNoRunHas) {
  auto trace = sample_trace("a", "round,loss,test_accuracy\n0,1,\n");
  trace.facts.clear();
  const auto text = compare_runs(each_alone({trace})).to_text();
  EXPECT_TRUE(contains(text, "loss"));
  for (const char* title : {"test acc.", "sigma", "epsilon", "bits"})
    EXPECT_FALSE(contains(text, title)) << text;
}

TEST(Compare, ManagesARunWithoutAnyEvaluation) {
  auto trace = sample_trace("early", "round,loss\n");
  trace.status = "interrupted";
  EXPECT_EQ(compare_runs(each_alone({trace})).rows.size(), 1U);
  EXPECT_EQ(compare_notes(each_alone({trace}))[0],
            "early interrupted: its figures are those of no round at all.");
}

TEST(CompareNotes, WarnOfTheMajorityClassAndOfUtilityAgainstLoss) {
  const std::string head = "round,loss,utility,test_accuracy\n";
  const auto notes = compare_notes(each_alone({sample_trace("flat", head + "0,32,0.3,0.58\n"),
                                               sample_trace("good", head + "0,1.2,0.5,0.765\n")}));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(
      notes[0],
      "Always answering the majority class scores 0.7600 on the test set; flat is no better.");
  EXPECT_TRUE(contains(notes[1], "favours flat, the loss favours good")) << notes[1];
}

TEST(CompareNotes, TellWhatCannotBeHeldAgainstEachOther) {
  const std::string head = "round,loss,utility,agent_loss_worst\n";
  const auto groups = each_alone({sample_trace("few", head + "0,1,1,1\n90,0.5,0.4,0.49\n")});
  const auto table = compare_runs(groups);
  EXPECT_FALSE(contains(table.to_text(), "utility")) << table.to_text();
  EXPECT_TRUE(nlohmann::json::parse(table.to_json())[0]["utility"].is_null());
  const auto notes = compare_notes(groups);
  ASSERT_EQ(notes.size(), 3U);  // the majority class, too
  EXPECT_TRUE(contains(notes[1], "No utility is shown for few")) << notes[1];
  EXPECT_TRUE(contains(notes[2], "Worst loss is below loss for few")) << notes[2];
}

TEST(Compare, SeedsAreOneRowWithMeanAndDeviation) {
  const std::string head = "round,loss,bits_per_agent,epsilon\n";
  std::vector<Trace> traces = {sample_trace("s1", head + "9,0.5,100,1.5\n"),
                               sample_trace("s2", head + "9,0.7,100,1.25\n"),
                               sample_trace("other", head + "9,0.1,100,\n")};
  traces[1].config = "[run]\nseed = 2\n";
  traces[2].config = "[algorithm]\nstep = 1\n[run]\nseed = 2\n";
  const auto table = compare_runs(group_by_seed(traces));
  const auto json = nlohmann::json::parse(table.to_json());
  ASSERT_EQ(json.size(), 2U);
  EXPECT_DOUBLE_EQ(json[0]["loss"], 0.6);
  EXPECT_NEAR(json[0]["loss_stddev"], std::sqrt(0.02), 1e-15);
  EXPECT_EQ(json[0]["seeds"], 2);
  EXPECT_EQ(json[0]["epsilon"], 1.5) << "a bound: the largest holds";
  EXPECT_TRUE(json[1]["loss_stddev"].is_null());
  const auto text = table.to_text();
  EXPECT_TRUE(contains(text, "0.6 ± 0.14")) << text;
  EXPECT_FALSE(contains(text, "stddev")) << text;
  EXPECT_FALSE(
      nlohmann::json::parse(compare_runs(each_alone(traces)).to_json())[0].contains("loss_stddev"));
}

TEST(PrivacyGroups, FollowTheVerdictAndNotTheWords) {
  auto sure = sample_trace("sure"), renamed = sample_trace("renamed");
  auto doubtful = sample_trace("doubtful"), silent = sample_trace("silent");
  sure.privacy.guaranteed = renamed.privacy.guaranteed = true;
  sure.privacy.sentence = "secret noise: certified";
  renamed.privacy.sentence = "No simulation: never called not private";
  doubtful.privacy.sentence = sure.privacy.sentence;
  silent.privacy.sentence = "";
  const auto groups = privacy_groups(each_alone({sure, doubtful, sure, renamed, silent}));
  ASSERT_EQ(groups.size(), 4U);
  const bool expected[] = {true, false, true, false};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(groups[i].guaranteed, expected[i]) << groups[i].text;
    EXPECT_FALSE(groups[i].text.empty());
  }
  EXPECT_EQ(groups[0].runs.size(), 2U);
}

}  // namespace
}  // namespace porter
