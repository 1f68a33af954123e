// SPDX-License-Identifier: Apache-2.0
#include "train/run_data.hpp"

#include <gtest/gtest.h>

#include "io/file.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

TEST(RunDataCache, KeepsOfManyFoldsOnlyTheLast) {
  const TempDir dir;
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += concat(i, ',', i % 2, '\n');
  write_file(dir / "t.csv", rows);
  RunDataCache cache;
  const auto get = [&](const std::vector<std::string>& more) {
    std::vector<std::string> keys = {"data.train=" + (dir / "t.csv").string(), "network.agents=2"};
    keys.insert(keys.end(), more.begin(), more.end());
    return cache.get(parse_config("", "test", keys));
  };
  const auto whole = get({});
  EXPECT_EQ(get({"run.threads=2"}).train, whole.train) << "dealt out alike";
  std::weak_ptr<const Dataset> first;
  {
    const auto one = get({"data.fold=1/4"});
    first = one.test;
    EXPECT_EQ(one.test->rows(), 10U);
    get({"data.fold=2/4"});
    EXPECT_EQ(get({"data.fold=1/4"}).test, one.test) << "in use, and so not loaded again";
  }
  EXPECT_FALSE(first.expired()) << "the last one stays";
  EXPECT_NE(get({"data.fold=3/4"}).test, nullptr);
  EXPECT_TRUE(first.expired());
}

// What a row is divided by hangs on how many rows there are and who shares them, not on the deal.
TEST(RunDataCache, MeasuresSpectralOnTheRowsThatAgentsShareEvenly) {
  const TempDir dir;
  std::string rows;
  for (int i = 0; i < 41; ++i) rows += concat(i, ',', i % 7, ',', i % 2, '\n');
  write_file(dir / "t.csv", rows);
  RunDataCache cache;
  const auto factor = [&](const std::vector<std::string>& more) {
    std::vector<std::string> keys = {"data.train=" + (dir / "t.csv").string(),
                                     "data.scale=spectral"};
    keys.insert(keys.end(), more.begin(), more.end());
    return cache.get(parse_config("", "test", keys)).scaling.factor;
  };
  const double all = factor({"network.agents=1"}), even = factor({"network.agents=10"});
  EXPECT_NE(even, all);
  EXPECT_EQ(factor({"network.agents=10", "data.split=by-label", "run.seed=7"}), even);
  EXPECT_EQ(factor({"network.agents=4"}), even);
  EXPECT_NE(factor({"network.agents=3"}), even);
  EXPECT_EQ(factor({"network.agents=2", "data.split=sizes:1,2"}), all) << "which leaves none over";
}

TEST(RunDataCache, TellsGivenMomentsFromOthers) {
  const TempDir dir;
  write_file(dir / "t.csv", "1,0\n2,1\n3,0\n5,1\n");
  RunDataCache cache;
  const auto mean = [&](const std::vector<std::string>& more) {
    std::vector<std::string> keys = {"data.train=" + (dir / "t.csv").string(),
                                     "data.scale=standard", "network.agents=2"};
    keys.insert(keys.end(), more.begin(), more.end());
    return cache.get(parse_config("", "test", keys)).scaling.mean;
  };
  EXPECT_EQ(mean({"data.moments=[1, 2]"}), 1);
  EXPECT_EQ(mean({"data.moments=[3, 2]"}), 3);
  EXPECT_EQ(mean({}), 2.75);
}

}  // namespace
}  // namespace porter
