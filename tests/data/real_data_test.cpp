// SPDX-License-Identifier: Apache-2.0
// The published facts of the real data sets, where these are at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/catalog.hpp"
#include "data/prepare.hpp"
#include "data/sources.hpp"
#include "data/summary.hpp"
#include "io/file.hpp"
#include "porter/data/load.hpp"
#include "real_data.hpp"

namespace porter {
namespace {

using Counts = std::vector<std::size_t>;

class RealData : public testing::Test {
 protected:
  void SetUp() override {
    if (!real_data_folder()) GTEST_SKIP() << kNoRealData;
  }
  static DataPair load(const DataOptions& options) {
    return load_data_from(options, {.given = real_data_folder(), .cache = std::nullopt});
  }
};

TEST_F(RealData, A9aHasThePublishedSizesAndRates) {
  const auto data = load({.name = "a9a"});
  EXPECT_EQ(data.train.features, 124U);
  EXPECT_EQ(data.test->features, 124U);
  EXPECT_EQ(data.train.values.size(), 451592U + 32561U);
  EXPECT_EQ(class_counts(data.train), (Counts{24720, 7841}));
  EXPECT_EQ(class_counts(*data.test), (Counts{12435, 3846}));
  EXPECT_NEAR(class_rate(*data.test, 0), 0.76377, 5e-6);  // as published, five digits
}

TEST_F(RealData, A9aByLabelLeavesSevenAgentsWithNegativesOnly) {
  const auto data = load({.name = "a9a", .bias = false}).train;
  const auto rows = partition_rows(data, 10, parse_split("by-label"), 1);
  ASSERT_EQ(rows.size(), 32560U);
  int negative_only = 0;
  for (std::size_t agent = 0; agent < 10; ++agent)
    negative_only += class_counts(data, std::span(rows).subspan(agent * 3256, 3256))[1] == 0;
  EXPECT_EQ(negative_only, 7);
}

TEST_F(RealData, A9aSpectralFactorIsThePublishedOne) {
  const auto plain = load({.name = "a9a"}).train;
  const double factor = spectral_norm(plain, 32560) / (2 * std::sqrt(32560.0));
  EXPECT_NEAR(factor, 1.34856, 5e-6);  // as published, six digits; with the bias column
  const auto scaling = load({.name = "a9a", .scale = FeatureScale::spectral, .agents = 10}).scaling;
  EXPECT_EQ(scaling.factor, factor);
}

// The authors' code drops the last row of the file and then sorts.
TEST_F(RealData, A9aByLabelLeavesOutTheLastRowOfTheFile) {
  const auto data = load({.name = "a9a", .bias = false}).train;
  const auto rows = partition_rows(data, 10, parse_split("by-label"), 1);
  EXPECT_EQ(std::ranges::find(rows, 32560U), rows.end());
  EXPECT_EQ(std::set<std::uint32_t>(rows.begin(), rows.end()).size(), 32560U);
}

TEST_F(RealData, MnistHasThePublishedCountsMeanAndDeviation) {
  const auto data = load({.name = "mnist", .bias = false});
  EXPECT_EQ(class_counts(data.train),
            (Counts{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  EXPECT_EQ(class_counts(*data.test),
            (Counts{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  double sum = 0, squares = 0;
  for (const double value : data.train.values) {
    sum += value;
    squares += value * value;
  }
  const double count = static_cast<double>(data.train.values.size()), mean = sum / count;
  const double stddev = std::sqrt(squares / count - mean * mean);
  EXPECT_NEAR(mean, 0.1306605, 5e-8);  // as published, seven digits
  EXPECT_NEAR(stddev, 0.3081078, 5e-8);
  const auto scaled = load({.name = "mnist", .scale = FeatureScale::standard, .bias = false});
  EXPECT_NEAR(scaled.train.values.front(), -mean / stddev, 1e-6);
}

TEST_F(RealData, SmallSetsHaveThePublishedSizes) {
  const auto mushrooms = load({.name = "mushrooms", .bias = false});
  EXPECT_EQ(class_counts(mushrooms.train), (Counts{3916, 4208}));
  EXPECT_EQ(mushrooms.train.values.size(), 21U * 8124U);
  EXPECT_FALSE(mushrooms.test.has_value());
  const auto phishing = load({.name = "phishing", .bias = false});
  EXPECT_EQ(class_counts(phishing.train), (Counts{4898, 6157}));
  EXPECT_EQ(phishing.train.values.size(), 30U * 11055U);
}

TEST_F(RealData, MatchesTheChecksumsOfTheCatalogue) {
  for (const auto& data : known_data())
    for (const auto& file : data.files) {
      const auto path = find_data_file(file, {.given = real_data_folder(), .cache = std::nullopt});
      ASSERT_TRUE(path.has_value()) << file.name;
      EXPECT_EQ(content_sha256(read_file(*path), file.text), file.sha256) << file.name;
    }
}

}  // namespace
}  // namespace porter
