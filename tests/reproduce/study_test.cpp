// SPDX-License-Identifier: Apache-2.0
#include "reproduce/study.hpp"

#include <gtest/gtest.h>

#include "porter/core/error.hpp"
#include "study_cases.hpp"

namespace porter {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  if (at == text.npos) throw std::logic_error("the test's text has no " + what);
  return text.replace(at, what.size(), by);
}

TEST(Study, ResolvesEverySeries) {
  const auto study = parsed(two_curves());
  EXPECT_EQ(study.title, "T");
  EXPECT_EQ(study.seeds.size(), 2U);
  ASSERT_EQ(study.settings.size(), 2U);
  EXPECT_EQ(study.settings[0].config->algorithm.name, "porter-gc");
  EXPECT_EQ(study.settings[1].config->algorithm.name, "beer");
  EXPECT_EQ(study.settings[1].config->algorithm.rounds, 8U);
  EXPECT_EQ(study.series[0].tuned, "search/gc.toml");
  EXPECT_EQ(study.settings[1].name, "BEER <b>");
}

TEST(Study, VariesAKeyWithItsOwnOverridesPerValue) {
  const auto study = parsed(small_study(
      "bars",
      "[[series]]\nlabel = \"a\"\nwith = [{ \"algorithm.step\" = 0.5 }, { algorithm = { step = "
      "0.25 } }]\nreference = [{ loss = 0.5 }, { loss = 0.25, utility = 1 }]\n"
      "[[series]]\nlabel = \"b\"\n[bars]\nvary = \"algorithm.batch\"\nvalues = [2, 4]\n"
      "with = [{ \"algorithm.step\" = 0.01 }, { \"algorithm.step\" = 0.02 }]\n"
      "metrics = [\"loss\"]\n"));
  ASSERT_EQ(study.settings.size(), 4U);
  EXPECT_EQ(study.setting(0, 1).config->algorithm.batch, 4U);
  EXPECT_EQ(study.setting(0, 0).config->algorithm.step, 0.5) << "the series wins";
  EXPECT_EQ(study.setting(0, 1).config->algorithm.step, 0.25);
  EXPECT_EQ(study.setting(1, 1).config->algorithm.step, 0.02);
  EXPECT_EQ(study.series[0].stored[1].at("loss"), 0.25);
  EXPECT_TRUE(study.series[1].stored.empty());
  EXPECT_EQ(study.setting(1, 0).name, "b, batch = 2");
}

TEST(Study, QuickKeepsLess) {
  const auto curves = parsed(two_curves(), {.quick = true});
  EXPECT_EQ(curves.seeds.size(), 1U);
  EXPECT_EQ(curves.settings[0].config->algorithm.rounds, 4U);
  const auto slope = parsed(small_slope(), {.quick = true});
  EXPECT_EQ(slope.values.size(), 2U);
  EXPECT_EQ(slope.setting(0, 1).config->algorithm.rounds, 4U) << "rounds are what is studied";
  EXPECT_EQ(parsed(two_curves(), {.quick = true, .seeds = 3}).seeds.size(), 3U);
}

TEST(Study, KeepsASettingThatTheConfigRefuses) {
  const auto study = parsed(replaced(two_curves(), "\"beer\"", "\"wine\""));
  EXPECT_TRUE(study.settings[0].config);
  EXPECT_FALSE(study.settings[1].config);
  EXPECT_NE(study.settings[1].refused.find("wine"), std::string::npos);
}

TEST(Study, FallsBackWhereDataIsMissing) {
  // No folder has the data sets.
  setenv("PORTER_DATA", "/nonexistent", 1);
  const auto cache =
      std::string(std::getenv("XDG_CACHE_HOME") ? std::getenv("XDG_CACHE_HOME") : "");
  setenv("XDG_CACHE_HOME", "/nonexistent", 1);
  const auto text = replaced(two_curves(), "\"synthetic\"", "\"a9a\"");
  const auto without = parsed(text);
  EXPECT_EQ(without.settings[0].config->data.name, "a9a");
  EXPECT_EQ(without.settings[0].missing_data, "a9a");
  const auto with =
      parsed(replaced(text, "[curves]", "[fallback]\n\"data.name\" = \"synthetic\"\n[curves]"));
  EXPECT_EQ(with.settings[0].config->data.name, "synthetic");
  EXPECT_EQ(with.settings[0].missing_data, "a9a");
  unsetenv("PORTER_DATA");
  if (cache.empty())
    unsetenv("XDG_CACHE_HOME");
  else
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
}

TEST(Study, NamesWhatIsWrong) {
  struct Case {
    std::string text, expected;
  };
  const auto curves = two_curves(), slope = small_slope();
  const std::vector<Case> cases = {
      {"kind = [", "small.toml:1: not valid TOML"},
      {replaced(curves, "kind = \"curves\"", "kind = \"pie\""),
       "small.toml:3: experiment.kind: expected one of curves, slope, bars; found \"pie\""},
      {replaced(curves, "title = \"T\"\n", ""), "experiment.title"},
      {replaced(curves, "seeds = 2", "seeds = 0"), "experiment.seeds"},
      {replaced(curves, "seeds = 2", "sedes = 2"), "did you mean seeds?"},
      {replaced(curves, "keep = 2", "kept = 2"), "quick.kept"},
      {replaced(curves, "[curves]", "[slope]"), "[slope]"},
      {replaced(curves, "[\"loss\", ", "[\"los\", "), "curves.metrics: expected a column"},
      {replaced(curves, "metrics", "metric"), "curves.metric"},
      {replaced(curves, "tuned", "tined"), "series 1.tined"},
      {replaced(curves, "\"BEER <b>\"", "\"GC\""), "is given twice"},
      {replaced(curves, "set = { \"algorithm.name\" = \"beer\" }", "set = 3"), "series 2.set"},
      {replaced(replaced(curves, "batch = 2", "bach = 2"), "bach", "bach"), "algorithm.bach"},
      {replaced(slope, "values = [2, 4, 8]", "values = []"), "slope.values"},
      {replaced(slope, "vary = \"algorithm.rounds\"\n", ""), "slope.vary"},
      {replaced(slope, "\"algorithm.rounds\"", "\"run.seed\""), "slope.vary"},
      {replaced(slope, "x = \"rounds\"", "x = \"runds\""), "slope.x"},
      {replaced(slope, "y = \"min_grad_norm\"", "y = \"no.key\""), "slope.y"},
      {replaced(slope, "exponent = -0.5\n", ""), "slope.exponent"},
      {replaced(slope, "label = \"GC\"", "label = \"GC\"\nwith = [{}]"), "series 1.with"},
      {replaced(slope, "label = \"GC\"", "label = \"GC\"\nreference = { los = 1 }"),
       "series 1.reference"},
      {replaced(slope, "[[series]]\nlabel = \"GC\"\n", ""), "[[series]]"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(expected);
    try {
      parsed(text);
      ADD_FAILURE() << "accepted:\n" << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("small.toml"), 0U) << error.what();
    }
  }
}

TEST(StudyFiles, AreAllSound) {
  ASSERT_FALSE(study_files().empty());
  for (const auto& [name, text] : study_files())
    for (const bool quick : {false, true}) {
      SCOPED_TRACE(name + (quick ? " quick" : ""));
      const auto study = parse_study(text, name, name, "", {.quick = quick});
      EXPECT_FALSE(study.about.empty());
      EXPECT_EQ(study.title, study_title(text, name));
      for (const auto& setting : study.settings)
        EXPECT_TRUE(setting.config) << setting.name << ": " << setting.refused;
    }
}

}  // namespace
}  // namespace porter
