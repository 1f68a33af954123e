// SPDX-License-Identifier: Apache-2.0
#include "grid/sweep.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "io/append_file.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// A small CSV problem, a config on it, and sweeps over the config.
class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false)));
    write_file(dir_ / "c.toml", kConfig);
  }

  Sweep sweep(const std::vector<std::pair<std::string, std::string>>& vary,
              SweepOptions options = {}, const std::vector<std::string>& overrides = {}) {
    options.vary = vary;
    if (!options.seeds) options.seeds = 2;
    return load_sweep(dir_ / "c.toml", overrides, options);
  }
  std::string error_of(const std::vector<std::pair<std::string, std::string>>& vary,
                       const SweepOptions& options = {}) {
    try {
      sweep(vary, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "no error";
  }
  /// The bytes of results.csv after a sweep into a new folder.
  std::string results(const Sweep& sweep, const std::string& out, std::size_t jobs = 2) {
    EXPECT_TRUE(run_sweep(sweep, dir_ / out, ExistingRun::refuse, {.jobs = jobs}));
    return read_file(dir_ / out / "results.csv");
  }
  /// The same with a stop after every `runs` runs and a resumption each time.
  std::string results_in_pieces(const Sweep& sweep, const std::string& out, int runs) {
    bool done = false;
    for (int piece = 0; piece < 100 && !done; ++piece) {
      std::atomic<int> seen = 0;
      std::atomic<bool> counting = false;
      done = run_sweep(sweep, dir_ / out, piece == 0 ? ExistingRun::refuse : ExistingRun::resume,
                       {.jobs = 2,
                        .stop_requested = [&] { return seen >= runs; },
                        .after_round = [&](const GridCounters&, std::size_t) { counting = true; },
                        .after_run =
                            [&](const GridRun&) {
                              if (counting) ++seen;  // those of earlier pieces do not count
                            }})
                 .has_value();
    }
    EXPECT_TRUE(done);
    return read_file(dir_ / out / "results.csv");
  }

  static constexpr const char* kConfig =
      "[data]\ntrain = \"train.csv\"\ntest = \"train.csv\"\n[network]\nagents = 4\ngraph = "
      "\"ring\"\n"
      "[algorithm]\nname = \"porter-gc\"\nrounds = 40\nstep = 0.1\nconsensus = 0.2\n"
      "compressor = \"random_k:0.4\"\nbatch = 4\n";
  TempDir dir_;
};

std::vector<std::string> column(const Sweep& sweep, std::size_t axis) {
  std::vector<std::string> values;
  for (const auto& setting : sweep.settings) values.push_back(setting.values[axis]);
  return values;
}

using Texts = std::vector<std::string>;

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

TEST_F(SweepTest, TellsHowMuchOfAFileHasBeenRead) {
  std::atomic<int> heard = 0;
  const auto reading = [&](const std::string& file, double share) {
    EXPECT_EQ(fs::path(file).filename(), "train.csv");
    EXPECT_GE(share, 0);
    EXPECT_LE(share, 1);
    ++heard;
  };
  const auto two = sweep({{"algorithm.step", "0.1,0.2"}});
  EXPECT_TRUE(run_sweep(two, dir_ / "out", ExistingRun::refuse, {.jobs = 2, .reading = reading}));
  EXPECT_GT(heard, 0);
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

TEST_F(SweepTest, ARunOfASweepIsTheRunThatTheConfigGives) {
  const auto grid = sweep({{"algorithm.step", "0.05,0.2"}});
  const auto result = run_sweep(grid, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  for (const auto& setting : result->ranked)
    for (const auto& run : setting.runs) {
      auto config = *grid.settings[run.setting].config;
      config.run.seed = run.seed;
      Trainer alone(assemble(config));
      MetricsRow last;
      train(alone, {{.after_evaluation = [&](const MetricsRow& row) { last = row; }}});
      last.seconds = 0;
      EXPECT_EQ(metrics_line(run.rows.back()), metrics_line(last))
          << run.setting << ", " << run.seed;
    }
  ASSERT_TRUE(result->best());
  EXPECT_LE(*result->ranked[0].mean, *result->ranked[1].mean);
  EXPECT_TRUE(result->best()->stddev);
  EXPECT_EQ(read_file(dir_ / "out" / "best.toml"),
            to_toml(*grid.settings[result->best()->setting].config));
  EXPECT_NO_THROW(load_config(dir_ / "out" / "best.toml"));
}

// Seconds that are measured differ from run to run; those that are modelled do not, and stay.
TEST_F(SweepTest, ModelledSecondsAreKept) {
  const auto seconds = [&](const std::string& compute, const char* folder) {
    const auto result = run_sweep(sweep({{"network.compute", compute}}), dir_ / folder,
                                  ExistingRun::refuse, {.jobs = 1});
    std::vector<double> list;
    for (const auto& setting : result->ranked)
      for (const auto& run : setting.runs) list.push_back(run.rows.back().seconds);
    return list;
  };
  const auto once = seconds("0.5", "once");
  ASSERT_FALSE(once.empty());
  for (const double value : once) EXPECT_GT(value, 0.5);
  EXPECT_EQ(once, seconds("0.5", "again"));
}

TEST_F(SweepTest, BadSettingsAreRowsWithReasons) {
  const auto grid = sweep({{"algorithm.consensus", "0.2,2"},
                           {"algorithm.step", "0.1,1e9"},
                           {"data.train", "train.csv,missing.csv"}},
                          {.seeds = 3}, {"algorithm.clip=linear:1e12"});
  ASSERT_EQ(grid.settings.size(), 8U);
  const auto result = run_sweep(grid, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->count(RunEnd::finished), 1U);
  EXPECT_EQ(result->count(RunEnd::diverged), 1U);
  EXPECT_EQ(result->count(RunEnd::failed), 6U);
  ASSERT_TRUE(result->best());
  EXPECT_EQ(result->best()->setting, 0U);
  const auto csv = read_file(dir_ / "out" / "results.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 8 * 3) << "never a hole\n" << csv;
  for (const char* part : {"hopeless: the loss at round", "skipped,diverged with seed 1",
                           "algorithm.consensus: expected a number in (0, 1]", "missing.csv"})
    EXPECT_NE(csv.find(part), csv.npos) << part << "\n" << csv;
  const auto summary = nlohmann::json::parse(read_file(dir_ / "out" / "summary.json"));
  EXPECT_EQ(summary["ranked"].size(), 8U);
  EXPECT_EQ(summary["best"]["values"]["algorithm.step"], 0.1);
}

TEST_F(SweepTest, AnErrorIsToBeSmallAndR2Large) {
  for (const char* name : {"train_r2", "test_r2", "agent_r2_mean", "agent_r2_worst"})
    EXPECT_TRUE(find_sweep_metric(name).higher_is_better) << name;
  for (const char* name : {"train_rmse", "test_rmse", "agent_rmse_mean", "agent_rmse_worst"})
    EXPECT_FALSE(find_sweep_metric(name).higher_is_better) << name;
}

TEST_F(SweepTest, AMetricThatIsNotThereIsAReason) {
  const auto grid =
      sweep({{"algorithm.step", "0.1"}}, {.metric = "test_accuracy"}, {"data.test=\"\""});
  const auto result = run_sweep(grid, dir_ / "out", ExistingRun::refuse, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->best(), nullptr);
  EXPECT_NE(result->ranked[0].reason.find("no test_accuracy"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir_ / "out" / "best.toml"));
}

TEST_F(SweepTest, AnyNumberOfJobsAndInterruptionsGiveTheSameBytes) {
  for (const std::uint32_t halving : {0U, 2U}) {
    const auto grid =
        sweep({{"algorithm.step", "log:0.01..1:4"}, {"algorithm.consensus", "0.1,0.4"}},
              {.halving = halving});
    const auto name = "h" + std::to_string(halving);
    const auto one = results(grid, name + "one", 1);
    EXPECT_EQ(results(grid, name + "five", 5), one);
    EXPECT_EQ(results_in_pieces(grid, name + "pieces", 3), one);
    EXPECT_FALSE(fs::exists(dir_ / (name + "pieces") / "checkpoints"));
    const auto before = read_file(dir_ / (name + "one") / "summary.json");
    EXPECT_TRUE(run_sweep(grid, dir_ / (name + "one"), ExistingRun::resume, {}));
    EXPECT_EQ(read_file(dir_ / (name + "one") / "summary.json"), before) << "nothing left to do";
  }
}

TEST_F(SweepTest, HalvingDropsTheWorseHalfAndChangesNoSurvivor) {
  const Texts steps = {"0.001", "0.003", "0.01", "0.03", "0.1"};
  std::string list;
  for (const auto& step : steps) list += (list.empty() ? "" : ",") + step;
  const auto full = sweep({{"algorithm.step", list}}),
             halved = sweep({{"algorithm.step", list}}, {.halving = 2});
  const auto all = run_sweep(full, dir_ / "full", ExistingRun::refuse, {});
  const auto some = run_sweep(halved, dir_ / "halved", ExistingRun::refuse, {});
  ASSERT_TRUE(all && some);
  EXPECT_EQ(some->count(RunEnd::finished), 2U) << "5, then 3, then 2";
  EXPECT_EQ(some->count(RunEnd::dropped), 3U);
  for (const auto& setting : some->ranked) {
    const auto round = setting.runs[0].rows.back().round;
    if (setting.status == RunEnd::dropped) {
      EXPECT_TRUE(round == 10 || round == 20) << round;
      EXPECT_NE(setting.reason.find("of 40: number"), std::string::npos) << setting.reason;
      continue;
    }
    const auto same = std::find_if(all->ranked.begin(), all->ranked.end(), [&](const auto& other) {
      return other.setting == setting.setting;
    });
    for (std::size_t s = 0; s < setting.runs.size(); ++s)
      EXPECT_EQ(metrics_line(setting.runs[s].rows.back()), metrics_line(same->runs[s].rows.back()));
  }
  // With so short a run the loss falls faster the larger the step, at every rung.
  EXPECT_EQ(some->best()->setting, 4U);
  EXPECT_EQ(some->ranked[0].setting, all->ranked[0].setting);
}

TEST_F(SweepTest, HalfALineIsDroppedAndOtherDamageIsNamed) {
  const auto grid = sweep({{"algorithm.step", "0.1,0.2"}});
  const auto whole = results(grid, "out");
  const auto journal = dir_ / "out" / "journal.jsonl";
  const auto text = read_file(journal);
  write_file(journal, text.substr(0, text.size() - 20));
  EXPECT_TRUE(run_sweep(grid, dir_ / "out", ExistingRun::resume, {}));
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
  EXPECT_EQ(read_file(journal).size(), text.size());

  for (const char* bad : {"{\"key\":\"a\",\"status\":\"finished\",\"rows\":[]}\n",
                          "{\"key\":\"a\",\"status\":\"paused\",\"rows\":[[1]]}\n", "junk\n"}) {
    write_file(journal, text + bad);
    try {
      run_sweep(grid, dir_ / "out", ExistingRun::resume, {});
      ADD_FAILURE() << "accepted " << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 6"), std::string::npos) << error.what();
    }
  }
}

TEST_F(SweepTest, ASweepOfAnotherVersionIsRefusedAndCanBeReplaced) {
  const auto grid = sweep({{"algorithm.step", "0.1,0.2"}});
  const auto whole = results(grid, "out");
  const auto journal = dir_ / "out" / "journal.jsonl";
  const auto refusal = [&]() -> std::string {
    try {
      run_sweep(grid, dir_ / "out", ExistingRun::resume, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string other = "{\"journal\":\"porter\",\"porter\":\"9.0.0\"}\n";
  write_file(journal, other);
  EXPECT_NE(refusal().find("another version of porter"), std::string::npos) << refusal();
  EXPECT_EQ(read_file(journal), other) << "nothing was touched";
  fs::rename(journal, dir_ / "out" / "journal.csv");
  EXPECT_NE(refusal().find("another version of porter"), std::string::npos) << refusal();
  EXPECT_TRUE(run_sweep(grid, dir_ / "out", ExistingRun::replace, {}));
  EXPECT_FALSE(fs::exists(dir_ / "out" / "journal.csv"));
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
}

TEST_F(SweepTest, FiguresThatAreNotFiniteAreTheSameAfterAResumption) {
  const auto grid = sweep({{"algorithm.step", "1e308,0.1"}}, {.hopeless = 0},
                          {"algorithm.compressor=identity", "algorithm.name=dsgd"});
  const auto whole = results(grid, "out");
  EXPECT_TRUE(whole.find("nan") != whole.npos || whole.find(",inf") != whole.npos) << whole;
  EXPECT_TRUE(run_sweep(grid, dir_ / "out", ExistingRun::resume, {}));
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
}

TEST_F(SweepTest, FilesOfOneNameInTwoFoldersAreTwoSettings) {
  fs::create_directory(dir_ / "other");
  const auto text = read_file(dir_ / "train.csv");
  write_file(dir_ / "other" / "train.csv", text.substr(text.size() / 2));
  const auto grid = sweep({{"data.train", "train.csv,other/train.csv"}}, {.seeds = 1});
  const auto whole = results(grid, "out");
  const auto again = run_sweep(grid, dir_ / "out", ExistingRun::resume, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
  EXPECT_NE(again->ranked[0].mean, again->ranked[1].mean);
}

TEST_F(SweepTest, AnotherSweepIsRefusedAndTheDifferenceNamed) {
  results(sweep({{"algorithm.step", "0.1,0.2"}}), "out");
  const auto other = sweep({{"algorithm.step", "0.1,0.3"}});
  for (const auto existing : {ExistingRun::refuse, ExistingRun::resume}) try {
      run_sweep(other, dir_ / "out", existing, {});
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      const std::string expected =
          existing == ExistingRun::resume ? "0.1,0.3" : "holds a sweep already";
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  EXPECT_TRUE(run_sweep(other, dir_ / "out", ExistingRun::replace, {}));
}

TEST_F(SweepTest, ReplacingASweepLeavesOtherFilesAlone) {
  const auto grid = sweep({{"algorithm.step", "0.1,0.2"}});
  const auto whole = results(grid, "out");
  write_file(dir_ / "out" / "report.html", "of the command");
  fs::create_directory(dir_ / "out" / "thesis");
  write_file(dir_ / "out" / "thesis" / "chapter.tex", "mine");
  write_file(dir_ / "out" / "notes.txt", "mine");
  EXPECT_TRUE(run_sweep(grid, dir_ / "out", ExistingRun::replace, {}));
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
  EXPECT_TRUE(fs::exists(dir_ / "out" / "notes.txt"));
  EXPECT_TRUE(fs::exists(dir_ / "out" / "thesis" / "chapter.tex"));
  EXPECT_FALSE(fs::exists(dir_ / "out" / "report.html"));
  // A config of this name is not a sweep that was begun here.
  fs::create_directory(dir_ / "home");
  fs::copy(dir_ / "c.toml", dir_ / "home" / "sweep.toml");
  for (const auto existing : {ExistingRun::replace, ExistingRun::resume})
    EXPECT_THROW(run_sweep(grid, dir_ / "home", existing, {}), Error);
  EXPECT_EQ(read_file(dir_ / "home" / "sweep.toml"), kConfig);
}

TEST_F(SweepTest, NothingTouchesAFolderThatAnotherSweepWorksIn) {
  const auto grid = sweep({{"algorithm.step", "0.1,0.2"}});
  const auto whole = results(grid, "out");
  {
    const AppendFile other(dir_ / "out" / "journal.jsonl", {.in_use = "the test has it"});
    for (const auto existing : {ExistingRun::resume, ExistingRun::replace}) try {
        run_sweep(grid, dir_ / "out", existing, {});
        ADD_FAILURE() << "accepted";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("another porter sweep"), std::string::npos)
            << error.what();
      }
  }
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
  EXPECT_TRUE(run_sweep(grid, dir_ / "out", ExistingRun::replace, {}));
  EXPECT_EQ(read_file(dir_ / "out" / "results.csv"), whole);
}

TEST_F(SweepTest, AFailedRunIsTriedAgainWhenItsCauseIsGone) {
  const auto grid = sweep({{"data.train", "train.csv,late.csv"}});
  const auto before = run_sweep(grid, dir_ / "out", ExistingRun::refuse, {});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->count(RunEnd::failed), 1U);
  fs::copy(dir_ / "train.csv", dir_ / "late.csv");
  const auto after = run_sweep(grid, dir_ / "out", ExistingRun::resume, {});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->count(RunEnd::finished), 2U);
}

TEST_F(SweepTest, NotesSayWhatEpsilonDoesNotCoverAndWhereTheRangeEnds) {
  const auto grid = sweep({{"algorithm.step", "0.001,0.01,0.1"}}, {.metric = "test_accuracy"});
  const auto result = run_sweep(grid, dir_ / "out", ExistingRun::refuse, {});
  std::string all;
  for (const auto& note : sweep_notes(grid, *result)) all += note + '\n';
  for (const char* part : {"not covered by any epsilon", "optimistic", "largest that was tried"})
    EXPECT_NE(all.find(part), all.npos) << part << "\n" << all;
}

TEST_F(SweepTest, PrivateRunsShareTheirCalibration) {
  const auto grid = sweep({{"algorithm.step", "0.01,0.02,0.03"}}, {},
                          {"algorithm.name=porter-dp", "privacy.epsilon=2", "privacy.delta=1e-4"});
  const auto result = run_sweep(grid, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  for (const auto& setting : result->ranked)
    for (const auto& run : setting.runs) {
      ASSERT_TRUE(!run.rows.empty() && run.rows[0].epsilon) << run.reason;
      EXPECT_LE(*run.rows[0].epsilon, 2);
      EXPECT_EQ(*run.rows[0].epsilon, *result->ranked[0].runs[0].rows[0].epsilon);
    }
}

TEST_F(SweepTest, FoldsAreTestSetsAndTheirMeanChooses) {
  const auto folds = sweep({{"algorithm.step", "0.05,0.2"}}, {.folds = 3}, {"data.test=\"\""});
  EXPECT_STREQ(folds.metric.column.name, "test_loss");
  const auto result = run_sweep(folds, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  for (const auto& setting : result->ranked) {
    ASSERT_EQ(setting.runs.size(), 6U);
    double sum = 0;
    for (std::size_t i = 0; i < setting.runs.size(); ++i) {
      const auto& run = setting.runs[i];
      EXPECT_EQ(run.seed, 1 + i / 3);
      EXPECT_EQ(run.fold, 1 + i % 3);
      auto config = *folds.settings[run.setting].config;
      config.run.seed = run.seed;
      config.data.fold = {run.fold, 3};
      Trainer alone(assemble(config));
      EXPECT_EQ(alone.parts().data.test->rows(), 40U);
      train(alone);
      EXPECT_EQ(*run.rows.back().test_loss, *alone.now().previous->test_loss);
      sum += *run.rows.back().test_loss;
    }
    EXPECT_DOUBLE_EQ(*setting.mean, sum / 6);
  }
  EXPECT_LT(*result->ranked[0].mean, *result->ranked[1].mean);
  const auto csv = read_file(dir_ / "out" / "results.csv");
  EXPECT_TRUE(csv.starts_with("setting,seed,fold,status,")) << csv;
  EXPECT_NE(csv.find("\n1,2,3,finished,"), csv.npos) << csv;
  EXPECT_EQ(nlohmann::json::parse(read_file(dir_ / "out" / "summary.json"))["folds"], 3);
  // The best is trained on everything.
  EXPECT_FALSE(load_config(dir_ / "out" / "best.toml").data.holds_out());
  EXPECT_EQ(load_sweep(dir_ / "out" / "sweep.toml", {}, {}).toml, folds.toml);
}

TEST_F(SweepTest, FoldsInterruptedAndOnAnyNumberOfJobsGiveTheSameBytes) {
  for (const std::uint32_t halving : {0U, 1U}) {
    const auto folds = sweep({{"algorithm.step", "0.05,0.2"}}, {.folds = 2, .halving = halving},
                             {"data.test=\"\""});
    const auto name = std::to_string(halving);
    const auto bytes = results(folds, "one" + name, 1);
    EXPECT_EQ(results(folds, "three" + name, 3), bytes);
    EXPECT_EQ(results_in_pieces(folds, "pieces" + name, 2), bytes);
  }
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

TEST_F(SweepTest, AnUntunedStepMayBeSweptBesideNumbers) {
  const auto steps = sweep({{"algorithm.step", "auto,0.2"}, {"algorithm.consensus", "auto"}});
  const auto result = run_sweep(steps, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->count(RunEnd::finished), 2U);
}

}  // namespace
}  // namespace porter
