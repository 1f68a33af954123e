// SPDX-License-Identifier: Apache-2.0
// A sweep in its folder: its runs, what it writes, and how it goes on where it was stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text.hpp"
#include "grid/sweep.hpp"
#include "io/append_file.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "sweep_test.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

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
      last.seconds.reset();
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
std::vector<double> seconds_of(const std::optional<SweepResult>& result) {
  std::vector<double> list;
  for (const auto& setting : result->ranked)
    for (const auto& run : setting.runs) list.push_back(run.rows.back().seconds.value_or(0));
  return list;
}

TEST_F(SweepTest, ModelledSecondsAreKeptAlsoByTheJournal) {
  for (const std::uint32_t halving : {0U, 1U}) {
    const auto grid = sweep({{"algorithm.step", "0.05,0.1"}}, {.halving = halving},
                            {"network.compute=0.5", "network.straggling=0.5"});
    const auto name = std::to_string(halving);
    const auto folder = dir_ / name;
    const auto trained = run_sweep(grid, folder, ExistingRun::refuse, {.jobs = 1});
    const auto once = seconds_of(trained);
    ASSERT_EQ(once.size(), 4U);
    for (const double value : once) EXPECT_GT(value, 10) << "20 rounds or more";
    const auto csv = read_file(folder / "results.csv");
    EXPECT_EQ(seconds_of(run_sweep(grid, folder, ExistingRun::resume, {})), once) << "read back";
    EXPECT_EQ(read_file(folder / "results.csv"), csv);
    EXPECT_EQ(results_in_pieces(grid, name + "pieces", 1), csv);
    const auto seconds = ',' + shortest(once.front()) + ',';
    for (const char* file : {"results.csv", "journal.jsonl"})
      EXPECT_NE(read_file(folder / file).find(seconds), std::string::npos) << file;
  }
}

TEST_F(SweepTest, MeasuredSecondsAreNotKept) {
  const auto grid = sweep({{"algorithm.step", "0.05,0.1"}});
  const std::vector<double> none(4, 0.0);
  EXPECT_EQ(seconds_of(run_sweep(grid, dir_ / "out", ExistingRun::refuse, {})), none);
  EXPECT_EQ(seconds_of(run_sweep(grid, dir_ / "out", ExistingRun::resume, {})), none);
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
  // Runs that an earlier porter wrote, which kept no seconds.
  auto other = read_file(journal);
  const std::string column = "\"seconds\",";
  ASSERT_NE(other.find(column), std::string::npos) << other;
  other.erase(other.find(column), column.size());
  for (const auto& text : {other, std::string("{\"journal\":\"porter\",\"porter\":\"9.0.0\"}\n")}) {
    write_file(journal, text);
    EXPECT_NE(refusal().find("another version of porter"), std::string::npos) << refusal();
    EXPECT_EQ(read_file(journal), text) << "nothing was touched";
  }
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

TEST_F(SweepTest, AnUntunedStepMayBeSweptBesideNumbers) {
  const auto steps = sweep({{"algorithm.step", "auto,0.2"}, {"algorithm.consensus", "auto"}});
  const auto result = run_sweep(steps, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->count(RunEnd::finished), 2U);
}

}  // namespace
}  // namespace porter
