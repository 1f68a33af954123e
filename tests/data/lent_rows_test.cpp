// SPDX-License-Identifier: Apache-2.0
// Rows that are read where they lie: selections share them, changes leave them as they are.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/prepare.hpp"
#include "porter/data/dataset.hpp"
#include "porter/train/assemble.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;

Dataset three_rows() {
  Dataset data;
  data.features = 2;
  data.values = {1, 2, 3, 4, 5, 6};
  data.labels = {0, 1, 1};
  data.classes = {"a", "b"};
  return data;
}

DataPair training_on(Dataset data) {
  DataPair pair;
  pair.train = std::move(data);
  return pair;
}

Floats all_values(const Dataset& data) {
  Floats all;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto values = data[row].values;
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(LentRows, ReadAsTheOwnedOnes) {
  const auto lent = lend_rows(three_rows());
  EXPECT_TRUE(lent.values.empty());
  EXPECT_EQ(all_values(lent), three_rows().values);
  EXPECT_EQ(lent.entries(), 6U);
}

TEST(LentRows, SelectionsShareThem) {
  const auto lent = lend_rows(three_rows());
  const auto picked = select_rows(lent, std::vector<std::uint32_t>{2, 0});
  EXPECT_EQ(picked[0].values.data(), lent[2].values.data());
  EXPECT_EQ(all_values(picked), (Floats{5, 6, 1, 2}));
  EXPECT_EQ(picked.labels, (Floats{1, 0}));
}

TEST(LentRows, OutliveWhoLentThem) {
  auto lent = lend_rows(three_rows());
  const auto picked = select_rows(lent, std::vector<std::uint32_t>{1});
  lent = {};
  EXPECT_EQ(all_values(picked), (Floats{3, 4}));
}

TEST(LentRows, AreNotChanged) {
  for (const auto scale : {FeatureScale::standard, FeatureScale::unit, FeatureScale::spectral})
    for (const bool bias : {false, true}) {
      const auto before = lend_rows(three_rows());
      auto owned = training_on(three_rows()), lent = training_on(before);
      scale_and_add_bias(owned, scale, bias, {});
      scale_and_add_bias(lent, scale, bias, {});
      plant_outliers(owned, "0.9:10", bias);
      plant_outliers(lent, "0.9:10", bias);
      EXPECT_EQ(all_values(lent.train), all_values(owned.train));
      EXPECT_EQ(all_values(before), three_rows().values);
    }
}

TEST(LentRows, StayWhereNothingChangesThem) {
  const auto before = lend_rows(three_rows());
  auto pair = training_on(before);
  scale_and_add_bias(pair, FeatureScale::none, false, {});
  EXPECT_EQ(pair.train[0].values.data(), before[0].values.data());
}

TEST(LentRows, AgentsMayMixBothKinds) {
  const std::vector<Dataset> agents{three_rows(), lend_rows(three_rows())};
  const auto joined = join_agents(agents);
  auto twice = three_rows().values;
  twice.insert(twice.end(), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(all_values(*joined.train), twice);
  EXPECT_EQ((*joined.train)[3].values.data(), agents[1][0].values.data());
}

}  // namespace
}  // namespace porter
