// SPDX-License-Identifier: Apache-2.0
#include "report/run_group.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sample_run.hpp"

namespace porter {
namespace {

Trace seeded(const std::string& name, int seed, const std::string& more = {}) {
  auto trace = sample_trace(name);
  trace.config = "[algorithm]\nstep = 0.1\n" + more + "\n[run]\nseed = " + std::to_string(seed) +
                 "\nthreads = " + std::to_string(seed) + "\n";
  return trace;
}

std::vector<std::string> labels(const std::vector<RunGroup>& groups) {
  std::vector<std::string> out;
  for (const auto& group : groups) out.push_back(group.label());
  return out;
}
using Labels = std::vector<std::string>;

TEST(RunGroups, RunsThatDifferInSeedAndThreadsAreOne) {
  const auto groups = group_by_seed({seeded("a/seed-1", 1), seeded("b", 1, "batch = 8\n"),
                                     seeded("a/seed-2", 2), seeded("a/seed-3", 3)});
  EXPECT_EQ(labels(groups), (Labels{"a (3 seeds)", "b"}));
  EXPECT_EQ(groups[0].runs[2].name, "a/seed-3");
  EXPECT_EQ(labels(each_alone({seeded("x", 1), seeded("y", 2)})), (Labels{"x", "y"}));
}

TEST(RunGroups, StepsThatWereWorkedOutMayDiffer) {
  const auto with_step = [](int seed, const std::string& step, bool worked_out) {
    auto trace = seeded("r" + std::to_string(seed), seed);
    trace.config.replace(trace.config.find("0.1"), 3, step);
    trace.facts["step_auto"] = worked_out ? "true" : "false";
    return trace;
  };
  EXPECT_EQ(labels(group_by_seed({with_step(1, "0.1", true), with_step(2, "0.2", true)})),
            (Labels{"r (2 seeds)"}));
  EXPECT_EQ(labels(group_by_seed({with_step(1, "0.1", false), with_step(2, "0.2", false)})),
            (Labels{"r1", "r2"}));
  EXPECT_EQ(labels(group_by_seed({with_step(1, "0.1", true), with_step(2, "0.1", false)})),
            (Labels{"r1", "r2"}))
      << "one was chosen";
}

TEST(RunGroups, TheNameIsWhatTheNamesShare) {
  const auto name = [](const std::string& a, const std::string& b) {
    return group_by_seed({seeded(a, 1), seeded(b, 2)})[0].name;
  };
  EXPECT_EQ(name("mnist-1", "mnist-10"), "mnist");
  EXPECT_EQ(name("lr0.1-s1", "lr0.1-s2"), "lr0.1");
  EXPECT_EQ(name("gr\u00f6", "gr\u00e4"), "gr") << "no half characters";
  EXPECT_EQ(name("buses1", "buses2"), "buses") << "the s is part of a word";
}

TEST(RunGroups, OneDrawCountsOnce) {
  EXPECT_EQ(labels(group_by_seed({seeded("a1", 1), seeded("a2", 2), seeded("again", 1)})),
            (Labels{"a (2 seeds)", "again"}));
}

TEST(RunGroups, WhoHasNoSeedOrIsUnderWayStaysAlone) {
  auto bare = sample_trace("bare");
  bare.config = "";
  auto running = seeded("running", 2);
  running.status = "unfinished";
  EXPECT_EQ(labels(group_by_seed({bare, bare, running, seeded("a", 1), seeded("b", 3)})).size(),
            4U);
}

TEST(RunGroups, AgentsOfOneRunAreNotSeeds) {
  std::vector<Trace> agents = {seeded("agent-0", 1), seeded("agent-1", 1), seeded("agent-0", 2),
                               seeded("agent-1", 2)};
  for (auto& agent : agents) agent.agent = true;
  const auto groups = group_by_seed(agents);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].runs[1].name, "agent-1");
}

TEST(RunGroups, RunsMeasuredAtOtherRoundsAreNotAveraged) {
  auto other = seeded("b", 2);
  other.metrics = parse_metrics("round,loss\n0,1\n7,1\n8,1\n9,1\n", "m");
  EXPECT_EQ(group_by_seed({seeded("a", 1), other}).size(), 2U);
}

TEST(RunGroups, OnlyFinishedRunsCountBesideOthers) {
  auto wild = seeded("s2", 2);
  wild.status = "diverged";
  auto groups = group_by_seed({seeded("s1", 1), wild, seeded("s3", 3)});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].label(), "runs (2 of 3 seeds)") << "the folder of all";
  auto elsewhere = seeded("s2", 2);
  elsewhere.folder = "more/s2";
  EXPECT_EQ(group_by_seed({seeded("s1", 1), elsewhere})[0].name, "s1 and 1 more");
  EXPECT_EQ(groups[0].status(), "2 of 3 finished");
  EXPECT_FALSE(groups[0].diverged());
  auto wilder = seeded("s1", 1);
  wilder.status = "diverged";
  groups = group_by_seed({wilder, wild});
  EXPECT_TRUE(groups[0].diverged());
  EXPECT_EQ(groups[0].status(), "diverged");
}

TEST(RunGroups, SpreadsAreThoseOfTheSeeds) {
  auto one = seeded("a1", 1), two = seeded("a2", 2);
  one.metrics = parse_metrics("round,loss,test_accuracy\n9,1,\n", "m");
  two.metrics = parse_metrics("round,loss,test_accuracy\n9,3,0.5\n", "m");
  const auto group = group_by_seed({one, two}).front();
  EXPECT_EQ(group.last("loss")->mean, 2);
  EXPECT_EQ(group.last("loss")->low, 1);
  EXPECT_DOUBLE_EQ(*group.last("loss")->stddev, std::sqrt(2.0));
  EXPECT_EQ(group.last("test_accuracy")->mean, 0.5) << "of the runs that have it";
  EXPECT_FALSE(group.last("utility"));
}

TEST(RunGroups, InfiniteFiguresHaveNoDeviation) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(spread_of({1, inf})->text(), "inf");
  EXPECT_EQ(spread_of({2, 2})->text(), "2");
  EXPECT_EQ(spread_of({1, 3})->text(), "2 ± 1.4");
}

}  // namespace
}  // namespace porter
