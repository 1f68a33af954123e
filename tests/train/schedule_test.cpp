// SPDX-License-Identifier: Apache-2.0
#include "train/run_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using Rounds = std::vector<std::uint32_t>;

const RunSize kSmall{.agents = 10,
                     .dim = 124,
                     .batch = 1,
                     .train_rows = 3000,
                     .test_rows = 1000,
                     .values = 56'000,
                     .parameters_per_row = 14};
// The paper's network on MNIST: an evaluation takes as long as dozens of rounds.
const RunSize kLarge{.agents = 10,
                     .dim = 50890,
                     .batch = 1,
                     .train_rows = 60000,
                     .test_rows = 10000,
                     .values = 54'880'000,
                     .parameters_per_row = 29'000};

TEST(Schedule, EveryIsTakenAtItsWord) {
  EXPECT_EQ(evaluation_rounds({Schedule::Kind::every, 3}, 10, kLarge), (Rounds{0, 3, 6, 9, 10}));
  EXPECT_EQ(evaluation_rounds({Schedule::Kind::every, 5}, 10, kSmall), (Rounds{0, 5, 10}));
  EXPECT_EQ(evaluation_rounds({Schedule::Kind::every, 1000}, 10, kSmall), (Rounds{0, 10}));
  EXPECT_EQ(evaluation_rounds({Schedule::Kind::every, 1}, 50000, kLarge).size(), 50001U);
}

TEST(Schedule, EndIsTheStartAndTheEnd) {
  EXPECT_EQ(evaluation_rounds({Schedule::Kind::end, 0}, 77, kSmall), (Rounds{0, 77}));
}

TEST(Schedule, LogIsAtMostItsPointsAscendingWithBothEnds) {
  for (const std::uint32_t rounds : {1, 2, 10, 1000, 1'000'000})
    for (const std::uint32_t points : {1, 2, 3, 10, 60}) {
      SCOPED_TRACE(testing::Message() << rounds << " rounds, " << points << " points");
      const auto at = evaluation_rounds({Schedule::Kind::log, points}, rounds, kSmall);
      EXPECT_EQ(at.front(), 0U);
      EXPECT_EQ(at.back(), rounds);
      EXPECT_LE(at.size(), std::max<std::size_t>(points, 3));
      EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
      EXPECT_EQ(std::adjacent_find(at.begin(), at.end()), at.end());
    }
}

TEST(Schedule, LogAllIsNeverThinnedOut) {
  const auto all = evaluation_rounds({Schedule::Kind::log_all, 60}, 1000, kLarge);
  EXPECT_EQ(all, evaluation_rounds({Schedule::Kind::log, 60}, 1000, kSmall));
  EXPECT_GT(all.size(), evaluation_rounds({Schedule::Kind::log, 60}, 1000, kLarge).size());
}

TEST(Schedule, MoreEvaluationsThanMemoryHoldsAreRefused) {
  for (const Schedule& schedule :
       {Schedule{Schedule::Kind::every, 1}, {Schedule::Kind::log_all, 4'000'000'000U}})
    try {
      evaluation_rounds(schedule, 2'000'000'000, kSmall);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(std::string(error.what()).find("run.evaluate: expected at most"), 0U);
    }
  EXPECT_LE(evaluation_rounds({Schedule::Kind::log, 4'000'000'000U}, 2'000'000'000, kSmall).size(),
            10'000'001U);
}

TEST(Schedule, LogThinsOutWhereEvaluationWouldDominate) {
  const auto few = evaluation_rounds({Schedule::Kind::log, 60}, 100, kLarge).size();
  const auto more = evaluation_rounds({Schedule::Kind::log, 60}, 1'000'000, kLarge).size();
  EXPECT_EQ(few, 2U);    // one takes longer than what is always free
  EXPECT_GE(more, 45U);  // of 60 on a logarithmic axis, the first few rounds coincide
  // Ten thousand rounds of the paper's logistic regression take a tenth of a second.
  EXPECT_GE(evaluation_rounds({Schedule::Kind::log, 60}, 10'000, kSmall).size(), 40U);
}

// The estimate of schedule.cpp once more, written out for these runs: the points beside
// the first and the last take a tenth of the whole, or a fifth of a second.
TEST(Schedule, LogTakesATenthOfTheRun) {
  struct Case {
    const char* name;
    RunSize size;
    double evaluation, loading, round;
  };
  auto many = kLarge;  // each of 1000 agents is measured on at least 256 rows
  many.agents = 1000;
  many.batch = 0;
  auto noised = kLarge;
  noised.noised = true;
  const double average = (2 * 60000 + 10000) * (29'000 * 4e-11 + 4e-8) + 54.88e6 * 3e-10;
  const double ten = 10 * (6000 + 10000) * (29'000 * 1.8e-11 + 1e-8 + 784 * 3e-10 / 16);
  const double thousand = 1000 * (256 + 256) * (29'000 * 1.8e-11 + 1e-8 + 784 * 3e-10 / 16);
  const double gradient = 29'000 * 6e-11, update = 5e-7 + 50890 * 1.3e-9;
  const Case cases[] = {
      {"ten agents", kLarge, average + ten, 0.5488, 10 * (update + gradient)},
      {"with noise", noised, average + ten, 0.5488, 10 * (update + gradient + 50890 * 1e-9)},
      {"a thousand agents", many, average + thousand, 0.5488, 1000 * update},
  };
  for (const auto& [name, size, evaluation, loading, round] : cases)
    for (const std::uint32_t rounds : {100, 10'000, 100'000, 1'000'000}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << rounds);
      const double rest = loading + rounds * round, allowed = std::max(0.2, rest / 9);
      const auto points = evaluation_rounds({Schedule::Kind::log, 1000}, rounds, size).size();
      EXPECT_LE(double(points), std::max(2.0, 1e-9 + allowed / evaluation));
      // Equal rounds at the start of the axis count once.
      EXPECT_GE(double(points), std::min(1000.0, allowed / evaluation) / 2 - 1);
    }
}

}  // namespace
}  // namespace porter
