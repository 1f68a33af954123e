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

}  // namespace
}  // namespace porter
