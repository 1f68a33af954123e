// SPDX-License-Identifier: Apache-2.0
// What a sweep is asked for, and the plan that comes of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "grid/sweep.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "sweep_test.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> column(const Sweep& sweep, std::size_t axis) {
  std::vector<std::string> values;
  for (const auto& setting : sweep.settings) values.push_back(setting.values[axis]);
  return values;
}

TEST_F(SweepTest, AGridIsEveryCombinationInOrder) {
  const auto grid = sweep({{"algorithm.step", "0.1,0.2"}, {"algorithm.batch", "1, 2, 4"}});
  EXPECT_EQ(column(grid, 0), (Texts{"0.1", "0.1", "0.1", "0.2", "0.2", "0.2"}));
  EXPECT_EQ(column(grid, 1), (Texts{"1", "2", "4", "1", "2", "4"}));
  EXPECT_EQ(grid.settings[4].config->algorithm.step, 0.2);
  EXPECT_EQ(grid.settings[4].config->algorithm.batch, 2U);
  EXPECT_EQ(grid.settings[4].config->algorithm.consensus, 0.2) << "the rest is the config's";
  EXPECT_EQ(grid.settings[4].name, "algorithm.step = 0.2, algorithm.batch = 2");
}

TEST_F(SweepTest, RangesAreEvenOrByEqualFactorsAndKeepTheirEnds) {
  EXPECT_EQ(column(sweep({{"algorithm.step", "lin:0.1..0.3:3"}}), 0), (Texts{"0.1", "0.2", "0.3"}));
  EXPECT_EQ(column(sweep({{"algorithm.step", "log:0.001..1:4"}}), 0),
            (Texts{"0.001", "0.01", "0.1", "1.0"}));
  EXPECT_EQ(column(sweep({{"algorithm.step", "log:0.01..0.3:3"}}), 0),
            (Texts{"0.01", "0.05477", "0.3"}))
      << "sqrt(0.01 * 0.3), to four digits";
  EXPECT_EQ(column(sweep({{"algorithm.batch", "intlog:1..8:7"}}), 0),
            (Texts{"1", "2", "3", "4", "6", "8"}))
      << "whole numbers, none twice";
}

TEST_F(SweepTest, ListsMayHoldTextsListsAndColons) {
  const auto specs = sweep({{"algorithm.compressor", "top_k:0.5,\"identity\""}});
  EXPECT_EQ(specs.settings[0].config->algorithm.compressor, "top_k:0.5");
  EXPECT_EQ(specs.settings[1].config->algorithm.compressor, "identity");
  const auto hidden = sweep({{"model.hidden", "[4],[4, 3]"}}, {}, {"model.name=mlp"});
  ASSERT_EQ(hidden.settings.size(), 2U);
  EXPECT_EQ(hidden.settings[1].config->model.hidden, (std::vector<std::size_t>{4, 3}));
  EXPECT_EQ(sweep({{"run.evaluate", "log:12,end"}}).settings.size(), 2U) << "not a range";
}

TEST_F(SweepTest, RandomSettingsComeFromTheSeedAndStayInTheirRanges) {
  const auto draw = [&](const std::string& seed, std::uint32_t count) {
    return sweep({{"algorithm.step", "log:0.001..1"}, {"algorithm.compressor", "sign,identity"}},
                 {.random = count}, {"run.seed=" + seed});
  };
  const auto ten = draw("1", 10), same = draw("1", 10), more = draw("1", 12), other = draw("2", 10);
  EXPECT_EQ(column(ten, 0), column(same, 0));
  EXPECT_NE(column(ten, 0), column(other, 0));
  auto first = column(more, 0);
  first.resize(10);
  EXPECT_EQ(column(ten, 0), first) << "asking for more keeps those that are there";
  bool small = false, large = false;
  for (const auto& setting : draw("1", 40).settings) {
    const double step = setting.config->algorithm.step;
    EXPECT_TRUE(step >= 0.001 && step <= 1) << step;
    small = small || step < 0.03;
    large = large || step > 0.03;
  }
  EXPECT_TRUE(small && large);
  EXPECT_EQ(sweep({{"algorithm.batch", "1,2,4"}}, {.random = 50}).settings.size(), 3U)
      << "none is drawn twice";
}

TEST_F(SweepTest, BadRequestsAreNamed) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), text.npos) << "expected \"" << part << "\" in: " << text;
  };
  has(error_of({}), "nothing to vary");
  has(error_of({{"algorithm.stepp", "0.1,0.2"}}), "did you mean step?");
  has(error_of({{"step", "0.1"}}), "section.key");
  has(error_of({{"algorithm.step", "0.1,,0.2"}}), "values between commas");
  has(error_of({{"algorithm.step", "0.1,0.1"}}), "is given twice");
  has(error_of({{"algorithm.step", "log:0..1:3"}}), "above 0");
  has(error_of({{"algorithm.step", "log:1..0.1:3"}}), "A < B");
  has(error_of({{"algorithm.step", "log:a..1:3"}}), "numbers A < B");
  has(error_of({{"algorithm.step", "log:0.1..1:x"}}), "2 to 1000 values");
  has(error_of({{"algorithm.step", "log:0.1..1"}}), "needs the number of values");
  has(error_of({{"run.seed", "1,2"}}), "number of seeds");
  has(error_of({{"run.threads", "1,2"}}), "does not change results");
  has(error_of({{"algorithm.step", "0.1"}}, {.metric = "speed"}), "test_accuracy");
  has(error_of({{"algorithm.step", "0.1"}}, {.hopeless = 0.5}), "above 1");
  has(error_of({{"algorithm.name", "porter-dp"}, {"privacy.noise", "secure"}}), "simulated");
  has(error_of({{"algorithm.step", "lin:0..1:1000"}, {"algorithm.consensus", "lin:0.1..1:1000"}}),
      "random search");
}

TEST_F(SweepTest, TheConfigMayHoldTheSweepAndTheCommandLineWins) {
  write_file(dir_ / "s.toml", std::string(kConfig) +
                                  "[sweep]\nseeds = 4\nmetric = \"test_accuracy\"\n[sweep.vary]\n"
                                  "algorithm.step = [0.1, 0.2]\n\"algorithm.batch\" = \"1,2\"\n");
  EXPECT_NO_THROW(load_config(dir_ / "s.toml")) << "a run leaves the section alone";
  const auto from_file = load_sweep(dir_ / "s.toml", {}, {});
  EXPECT_EQ(from_file.settings.size(), 4U);
  EXPECT_EQ(from_file.seeds.size(), 4U);
  EXPECT_TRUE(from_file.metric.higher_is_better);
  const auto both = load_sweep(dir_ / "s.toml", {},
                               {.vary = {{"algorithm.step", "0.3"}}, .seeds = 1, .metric = "loss"});
  EXPECT_EQ(both.settings.size(), 2U);
  EXPECT_EQ(both.settings[0].config->algorithm.step, 0.3);
  EXPECT_EQ(both.seeds.size(), 1U);
  EXPECT_FALSE(both.metric.higher_is_better);
}

TEST_F(SweepTest, SettingsMayBeListedOneByOne) {
  const auto listed = [&](const std::string& sweep, const SweepOptions& wins = {}) {
    write_file(dir_ / "s.toml", std::string(kConfig) + "[sweep]\nseeds = 1\n" + sweep);
    return load_sweep(dir_ / "s.toml", {}, wins);
  };
  const std::string three =
      "settings = [{ algorithm.step = 0.1, data.train = \"train.csv\" },\n"
      "{ data.train = \"train.csv\", \"algorithm.step\" = 0.2 },\n"
      "{ algorithm.step = 0.1, data.train = \"other.csv\" }]\n";
  const auto sweep = listed(three);
  EXPECT_EQ(sweep.keys, (Texts{"algorithm.step", "data.train"}));
  EXPECT_EQ(column(sweep, 0), (Texts{"0.1", "0.2", "0.1"}));
  EXPECT_EQ(sweep.settings[2].config->data.train, (dir_ / "other.csv").string());

  fs::create_directory(dir_ / "elsewhere");
  write_file(dir_ / "elsewhere" / "again.toml", sweep.toml);
  const auto again = load_sweep(dir_ / "elsewhere" / "again.toml", {}, {});
  EXPECT_EQ(again.toml, sweep.toml);
  EXPECT_EQ(column(again, 1), column(sweep, 1));

  EXPECT_EQ(listed(three, {.vary = {{"algorithm.step", "0.3"}}}).settings.size(), 1U)
      << "the command line wins";
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      listed(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), text.npos) << "expected \"" << part << "\" in: " << text;
  };
  has(refusal("settings = [{ algorithm.step = 0.1 }, { algorithm.batch = 2 }]\n"),
      "number 2 has other keys");
  has(refusal("settings = [{ algorithm.step = 0.1 }, { algorithm.step = 0.1 }]\n"),
      "number 2 is given twice");
  has(refusal("settings = [0.1]\n"), "found 0.1");
  has(refusal("settings = [{ run.seed = 2 }]\n"), "number of seeds");
  has(refusal("random = 2\nsettings = [{ algorithm.step = 0.1 }]\n"), "nothing can vary");
}

TEST_F(SweepTest, TheWrittenPlanGivesTheSameSweepFromAnyFolder) {
  const auto original = sweep({{"data.train", "train.csv"}, {"algorithm.step", "log:0.1..1:3"}},
                              {.seeds = 3, .halving = 1}, {"algorithm.batch=2"});
  fs::create_directory(dir_ / "elsewhere");
  write_file(dir_ / "elsewhere" / "again.toml", original.toml);
  const auto again = load_sweep(dir_ / "elsewhere" / "again.toml", {}, {});
  EXPECT_EQ(again.toml, original.toml);
  ASSERT_EQ(again.settings.size(), original.settings.size());
  for (std::size_t i = 0; i < again.settings.size(); ++i)
    EXPECT_EQ(to_toml(*again.settings[i].config), to_toml(*original.settings[i].config));
}

TEST_F(SweepTest, AnErrorIsToBeSmallAndR2Large) {
  for (const char* name : {"train_r2", "test_r2", "agent_r2_mean", "agent_r2_worst"})
    EXPECT_TRUE(find_sweep_metric(name).higher_is_better) << name;
  for (const char* name : {"train_rmse", "test_rmse", "agent_rmse_mean", "agent_rmse_worst"})
    EXPECT_FALSE(find_sweep_metric(name).higher_is_better) << name;
}

TEST_F(SweepTest, FoldsAreRefusedWhereATestSetIs) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), text.npos) << "expected \"" << part << "\" in: " << text;
  };
  has(error_of({{"algorithm.step", "0.1"}}, {.folds = 3}), "folds: nothing is held out");
  has(error_of({{"algorithm.step", "0.1"}}, {.folds = 1}), "from 2 to 1000");
  try {
    sweep({{"algorithm.step", "0.1"}}, {.folds = 3}, {"data.test=\"\"", "data.holdout=0.2"});
    FAIL();
  } catch (const Error& error) {
    has(error.what(), "found both");
  }
}

}  // namespace
}  // namespace porter
