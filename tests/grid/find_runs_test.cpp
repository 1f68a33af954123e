// SPDX-License-Identifier: Apache-2.0
#include "grid/find_runs.hpp"

#include <gtest/gtest.h>

#include <set>

#include "grid/sweep.hpp"
#include "grid/sweep_report.hpp"
#include "io/append_file.hpp"
#include "markup.hpp"
#include "porter/core/error.hpp"
#include "report/run_group.hpp"
#include "sample_run.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

std::string named(const std::string& name) { return R"({"name": ")" + name + R"("})"; }

std::vector<std::string> names(const FoundRuns& runs) {
  std::vector<std::string> out;
  for (const auto& trace : runs.traces) out.push_back(trace.name);
  return out;
}
using Names = std::vector<std::string>;

std::string error_of(const fs::path& folder) {
  try {
    find_runs(std::vector{folder});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "no error";
}

TEST(FindRuns, AFolderStandsForTheRunsInIt) {
  const TempDir dir;
  for (const char* name : {"c", "a", "b"}) write_run(dir / "all" / name, named(name));
  fs::create_directories(dir / "all" / "notes");
  const auto runs = find_runs(std::vector{dir / "all" / "b", dir / "all" / ""});
  ASSERT_EQ(runs.traces.size(), 4U);
  EXPECT_EQ(runs.traces[0].name, "b (" + (dir / "all/b").string() + ")")
      << "two runs of one name show their folders";
  EXPECT_EQ(runs.traces[1].name, "a");
  EXPECT_EQ(runs.traces[3].name, "c");
  EXPECT_EQ(runs.found,
            (Names{(dir / "all/b").string() + ": 1 run", (dir / "all").string() + ": 3 runs"}));
  EXPECT_TRUE(runs.skipped.empty());
}

TEST(FindRuns, RunsAtAnyDepthAreFoundAndNamedByTheirPlaces) {
  const TempDir dir;
  for (const char* place : {"lr/1", "lr/2", "other/deep/er/1", "alone"})
    write_run(dir / "x" / place, named(fs::path(place).filename()));
  EXPECT_EQ(names(find_runs(std::vector{dir / "x"})),
            (Names{"alone", "lr/1", "2", "other/deep/er/1"}));
}

TEST(FindRuns, WhatIsSkippedIsSaidAndWhy) {
  const TempDir dir;
  const auto x = dir / "x";
  write_run(x / "good", named("good"));
  write_run(x / "broken", "{");
  fs::create_directories(x / "begun");
  write_file(x / "begun" / "config.toml", "[run]\n");
  fs::create_directories(x / "agents" / "agent-3");
  write_file(x / "agents" / "agent-3" / "status.json",
             R"({"name": "agent-3", "state": "training", "round": 12, "rounds": 100})");
  fs::create_directories(x / "study");
  write_file(x / "study" / "journal.jsonl", "");
  fs::create_directories(x / "turning");
  write_file(x / "turning" / "journal.jsonl", "");
  fs::create_symlink("sweep.toml", x / "turning" / "sweep.toml");
  for (const char* own : {".hidden", "checkpoint", "keys"}) write_run(x / own, named("not this"));
  fs::create_directory_symlink(x, x / "round-about");
  const auto runs = find_runs(std::vector{x});
  EXPECT_EQ(names(runs), Names{"good"});
  std::string all;
  for (const auto& text : skipped_runs(runs)) all += text + "\n";
  for (const std::string text :
       {"begun: a run that has no metrics.csv",
        "agent-3: an agent that has no results yet (training, round 12 of "
        "100)",
        "summary.json", "the configs of a study that has ended", "turning: "})
    EXPECT_TRUE(contains(all, text)) << text << "\n" << all;
  EXPECT_EQ(runs.skipped.size(), 4U) << all;
  ASSERT_EQ(runs.under_way.size(), 1U);
  EXPECT_EQ(runs.under_way[0].round, 12);
}

TEST(FindRuns, AClusterIsItsResultsAndItsAgentsOnlyWhereTheyAreNamed) {
  const TempDir dir;
  write_run(dir / "c", named("c"));
  for (const char* agent : {"agent-0", "agent-1"})
    write_run(dir / "c/agents" / agent, named(agent));
  const auto cluster = find_runs(std::vector{dir / "c"});
  EXPECT_EQ(names(cluster), Names{"c"});
  ASSERT_EQ(cluster.skipped.size(), 1U);
  EXPECT_TRUE(contains(cluster.skipped[0], "name this folder to see each"));
  EXPECT_EQ(names(find_runs(std::vector{dir / "c/agents"})), (Names{"agent-0", "agent-1"}));
}

TEST(FindRuns, ErrorsNameTheFolderThatWasGiven) {
  const TempDir dir;
  fs::create_directories(dir / "empty");
  write_file(dir / "file", "");
  write_run(dir / "broken", "{");
  for (const auto& [name, reason] : {std::pair{"missing", "no such folder"},
                                     {"empty", "not a run folder"},
                                     {"file", "expected a run folder, found a file"}})
    EXPECT_TRUE(contains(error_of(dir / name), (dir / name).string() + ": " + reason)) << name;
  EXPECT_TRUE(contains(error_of(dir / "broken"), "summary.json"));
  EXPECT_TRUE(find_runs(std::vector{dir / "empty"}, true).traces.empty());
}

class FindSweep : public testing::Test {
 protected:
  FindSweep() {
    write_file(dir_ / "c.toml",
               "[data]\nname = \"synthetic\"\n[network]\nagents = 4\ngraph = \"ring\"\n"
               "[algorithm]\nname = \"porter-gc\"\nrounds = 16\nbatch = 4\n"
               "[run]\nevaluate = \"every:1\"\n[sweep]\nseeds = 2\nhalving = 1\n[sweep.vary]\n"
               "algorithm.step = [0.1, 1e300]\nalgorithm.consensus = [0.1, 0.2]\n");
    sweep_ = load_sweep(dir_ / "c.toml", {}, {});
  }
  TempDir dir_;
  Sweep sweep_;
};

TEST_F(FindSweep, EveryRunOfASweepIsThereWithItsSettingAndFigures) {
  const auto result = run_sweep(sweep_, dir_ / "out", ExistingRun::refuse, {.jobs = 2});
  ASSERT_TRUE(result);
  const auto runs = find_runs(std::vector{dir_ / "out"});
  std::size_t expected = 0;
  for (const auto& setting : result->ranked)
    for (const auto& run : setting.runs) expected += run.status != RunEnd::skipped;
  EXPECT_EQ(runs.traces.size(), expected);
  ASSERT_EQ(runs.found.size(), 1U);
  EXPECT_TRUE(contains(runs.found[0], " of a sweep")) << runs.found[0];
  const auto groups = group_by_seed(runs.traces);
  ASSERT_EQ(groups.size(), 4U);
  for (const auto& ranked : result->ranked) {
    const auto& values = sweep_.settings[ranked.setting].values;
    const auto name = "consensus = " + values[0] + ", step = " + values[1];
    const auto group =
        std::ranges::find_if(groups, [&](const auto& one) { return one.first().setting == name; });
    ASSERT_NE(group, groups.end()) << name;
    EXPECT_EQ(group->status(), to_string(ranked.status)) << name;
    if (ranked.status != RunEnd::finished) continue;
    EXPECT_EQ(group->name, name);
    EXPECT_DOUBLE_EQ(group->last("loss")->mean, *ranked.mean);
    EXPECT_DOUBLE_EQ(*group->last("loss")->stddev, *ranked.stddev);
    EXPECT_TRUE(group->first().has_utility());
    EXPECT_TRUE(
        contains(group->first().repeat, "sweep.toml --set algorithm.consensus=" + values[0]));
  }
}

// Without a clock there is nothing to draw by time.
TEST_F(FindSweep, SecondsAreThereWhereTheyAreModelled) {
  const auto run_of = [&](const std::vector<std::string>& overrides, const char* folder) {
    const auto sweep = load_sweep(dir_ / "c.toml", overrides,
                                  {.vary = {{"algorithm.step", "0.1"}}, .seeds = 1, .halving = 0});
    EXPECT_TRUE(run_sweep(sweep, dir_ / folder, ExistingRun::refuse, {.jobs = 1}));
    return find_runs(std::vector{dir_ / folder}).traces.at(0);
  };
  EXPECT_EQ(run_of({}, "measured").metrics.find("seconds"), nullptr);
  EXPECT_EQ(run_of({"network.compute=0.5"}, "modelled").last("seconds"), 8)
      << "16 rounds of half a second";
}

TEST_F(FindSweep, FoldsAreToldApart) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += concat(i % 7, ',', i % 5, ',', i % 2, '\n');
  write_file(dir_ / "t.csv", rows);
  const auto sweep =
      load_sweep(dir_ / "c.toml", {"data.name=", "data.train=" + (dir_ / "t.csv").string()},
                 {.vary = {{"algorithm.step", "0.1,0.2"}}, .folds = 2});
  ASSERT_TRUE(run_sweep(sweep, dir_ / "out", ExistingRun::refuse, {.jobs = 1}));
  std::set<std::string> labels;
  for (const auto& group : group_by_seed(find_runs(std::vector{dir_ / "out"}).traces))
    labels.insert(group.label());
  EXPECT_TRUE(labels.contains("consensus = 0.1, step = 0.1, fold 2 (2 seeds)")) << *labels.begin();
  EXPECT_EQ(labels.size(), 8U) << "2 x 2 settings, 2 folds";
}

TEST_F(FindSweep, ASweepUnderWayIsReadWhileItWorks) {
  std::size_t seen = 0;
  const GridHooks hooks{.jobs = 1, .after_run = [&](const GridRun&) {
                          seen = std::max(seen,
                                          find_runs(std::vector{dir_ / "out"}, true).traces.size());
                        }};
  ASSERT_TRUE(run_sweep(sweep_, dir_ / "out", ExistingRun::refuse, hooks));
  EXPECT_GT(seen, 2U);
  // Half a line is left out and stays where it is; a line of somebody else's is an error.
  const auto journal = dir_ / "out/journal.jsonl";
  const auto text = read_file(journal);
  const auto runs = find_runs(std::vector{dir_ / "out"}).traces.size();
  write_file(journal, text + "{\"key\": \"ab");
  EXPECT_EQ(find_runs(std::vector{dir_ / "out"}).traces.size(), runs);
  EXPECT_EQ(read_file(journal), text + "{\"key\": \"ab");
  write_file(journal, "{\"journal\": \"other\"}\n");
  EXPECT_TRUE(contains(error_of(dir_ / "out"), "another version"));
}

}  // namespace
}  // namespace porter
