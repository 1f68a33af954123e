// SPDX-License-Identifier: Apache-2.0
#include "data/prepare.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "data/summary.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "small_matrix.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;

FileTable table(std::string_view libsvm, const std::string& name = "f", std::size_t features = 2) {
  return decode_libsvm(libsvm, name, features);
}

DataPair small_pair() { return label_tables(table("1 1:3 2:4\n2 2:2\n"), table("2 1:1\n"), false); }

std::vector<Floats> dense_rows(const Dataset& data) {
  std::vector<Floats> rows;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto sample = data[row];
    Floats values(data.features, 0.0F);
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      values[sample.sparse ? sample.columns[i] : i] = sample.values[i];
    rows.push_back(values);
  }
  return rows;
}

TEST(Labels, BecomeClassesInAscendingOrder) {
  const auto pair =
      label_tables(table("7 1:1\n-1 1:1\n2.5 1:1\n7 1:1\n"), table("2.5 1:1\n"), false);
  EXPECT_EQ(pair.train.classes, (std::vector<std::string>{"-1", "2.5", "7"}));
  EXPECT_EQ(pair.train.labels, (Floats{2, 0, 1, 2}));
  EXPECT_EQ(pair.test->classes, pair.train.classes);
  EXPECT_EQ(pair.test->labels, Floats{1});
  EXPECT_EQ(class_counts(pair.train), (std::vector<std::size_t>{1, 1, 2}));
  EXPECT_EQ(majority_class(pair.train), 2U);
}

TEST(Labels, StayAsTheyAreForRegression) {
  const auto pair = label_tables(table("7.5 1:1\n-1 1:1\n"), table("9 1:1\n"), true);
  EXPECT_TRUE(pair.train.classes.empty());
  EXPECT_EQ(pair.train.labels, (Floats{7.5F, -1}));
  EXPECT_EQ(pair.test->labels, Floats{9});
  EXPECT_EQ(majority_class(pair.train), std::nullopt);
}

std::string label_error(FileTable train, std::optional<FileTable> test = std::nullopt) {
  try {
    label_tables(std::move(train), std::move(test), false);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "no error";
}

TEST(Labels, RefuseWhatTheTrainingSetDoesNotHave) {
  EXPECT_EQ(label_error(table("1 1:1\n2 1:1\n"), table("1 1:1\n\n3 1:1\n", "g")),
            "g, line 3: expected a label of the training set (1, 2), found 3");
  EXPECT_EQ(label_error(table("1 1:1\n1 1:1\n")),
            "f: expected at least two classes, found only the label 1");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += std::to_string(i) + " 1:1\n";
  EXPECT_EQ(label_error(table(many)),
            "f: expected at most 1000 classes, found 1001 distinct labels; if these are targets of "
            "a regression, use a regression model");
}

TEST(Scale, NoneAppendsOnlyTheBias) {
  auto pair = small_pair();
  scale_and_add_bias(pair, FeatureScale::none, true);
  EXPECT_TRUE(pair.train.sparse());
  EXPECT_EQ(pair.train.features, 3U);
  EXPECT_EQ(dense_rows(pair.train), (std::vector<Floats>{{3, 4, 1}, {0, 2, 1}}));
  EXPECT_EQ(dense_rows(*pair.test), (std::vector<Floats>{{1, 0, 1}}));
}

TEST(Scale, StandardMeasuresTheTrainingSetAndMakesItDense) {
  auto pair = small_pair();
  scale_and_add_bias(pair, FeatureScale::standard, true);
  EXPECT_FALSE(pair.train.sparse());
  const double mean = 9.0 / 4, stddev = std::sqrt(29.0 / 4 - mean * mean);
  const auto scaled = [&](double x) { return static_cast<float>((x - mean) / stddev); };
  EXPECT_EQ(dense_rows(pair.train),
            (std::vector<Floats>{{scaled(3), scaled(4), 1}, {scaled(0), scaled(2), 1}}));
  EXPECT_EQ(dense_rows(*pair.test), (std::vector<Floats>{{scaled(1), scaled(0), 1}}));
}

TEST(Scale, GivenMomentsAreWhatMeasuredOnesWouldBeBitByBit) {
  auto measured = small_pair(), given = small_pair();
  scale_and_add_bias(measured, FeatureScale::standard, true);
  const FeatureMoments moments{measured.scaling.mean, measured.scaling.deviation};
  scale_and_add_bias(given, FeatureScale::standard, true, {}, 1, moments);
  EXPECT_EQ(given.train.values, measured.train.values);
  EXPECT_EQ(given.test->values, measured.test->values);
  EXPECT_EQ(given.scaling.mean, moments.mean);
  EXPECT_EQ(given.scaling.deviation, moments.deviation);

  // No row is looked at, so features that are all the same will do.
  auto zero = label_tables(table("1\n2\n"), std::nullopt, false);
  scale_and_add_bias(zero, FeatureScale::standard, false, {}, 1, FeatureMoments{1, 2});
  EXPECT_EQ(zero.train.values, Floats(zero.train.values.size(), -0.5F));
}

TEST(Scale, MomentsThatAreNoneAreRefused) {
  const auto refusal = [](FeatureScale scale, FeatureMoments moments) -> std::string {
    DataOptions options;
    options.scale = scale;
    options.moments = moments;
    try {
      prepare_data(options, small_pair());
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(refusal(FeatureScale::standard, {0, 1}), "no error");
  for (const auto scale : {FeatureScale::none, FeatureScale::spectral, FeatureScale::unit})
    EXPECT_EQ(refusal(scale, {0, 1}).find("data.moments: mean and deviation are for"), 0U);
  for (const auto& moments : {FeatureMoments{0, 0}, {0, -1}, {NAN, 1}, {0, NAN}, {0, INFINITY}})
    EXPECT_EQ(refusal(FeatureScale::standard, moments).find("data.moments: expected a finite"), 0U)
        << moments.mean << ' ' << moments.deviation;
}

TEST(Scale, StandardRefusesToFillTheMemory) {
  auto pair = label_tables(table("1 1:1\n2 1:1\n1 1:1\n2 1:1\n1 1:1\n", "f", kMaxFeatures),
                           std::nullopt, false);
  try {
    scale_and_add_bias(pair, FeatureScale::standard, true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("limit of 4 GiB"), std::string::npos) << error.what();
  }
}

TEST(Scale, UnitGivesRowsOfLengthOneAndLeavesZeroRows) {
  auto pair = label_tables(table("1 1:3 2:4\n2\n"), std::nullopt, false);
  scale_and_add_bias(pair, FeatureScale::unit, false);
  EXPECT_EQ(dense_rows(pair.train), (std::vector<Floats>{{0.6F, 0.8F}, {0, 0}}));
}

TEST(Scale, SpectralDividesAllColumnsByTheNormOverTwoRootN) {
  auto pair = small_pair();
  scale_and_add_bias(pair, FeatureScale::spectral, true);
  const SmallMatrix x(2, 3, {3, 4, 1, 0, 2, 1});
  const double factor = x.largest_singular_value() / (2 * std::sqrt(2.0));
  const auto rows = dense_rows(pair.train);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      // One rounding to float.
      EXPECT_NEAR(rows[i][j], x(i, j) / factor, 1e-6) << i << ' ' << j;
  EXPECT_NEAR(dense_rows(*pair.test)[0][2], 1 / factor, 1e-6);
}

TEST(Scale, SpectralNormAgreesWithTheSingularValues) {
  constexpr std::size_t kRows = 40, kColumns = 9;
  for (std::uint32_t round = 0; round < 5; ++round) {
    RngStream rng(1, Draw::test, 0, round);
    SmallMatrix x(kRows, kColumns);
    Dataset data;
    data.features = kColumns;
    data.labels.assign(kRows, 0.0F);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) {
        data.values.push_back(static_cast<float>(rng.normal()));
        x(i, j) = data.values.back();
      }
    // The quotient settles to 1e-12 a step; near-equal singular values cost a few digits.
    const double norm = x.largest_singular_value();
    EXPECT_NEAR(spectral_norm(data, kRows), norm, 1e-8 * norm) << round;
  }
}

// As many agents as there are rows and more get one row each, or the deal is refused.
TEST(Scale, SpectralIsMeasuredOnTheFirstRowsThatAgentsShareEvenly) {
  const std::string_view rows[] = {"1 1:3 2:4\n", "2 2:2\n", "1 1:1\n", "2 1:5 2:1\n", "1 2:9\n"};
  const auto factor = [&](std::size_t count, std::size_t agents) {
    std::string text;
    for (std::size_t row = 0; row < count; ++row) text += rows[row];
    auto pair = label_tables(table(text), table("2 1:1\n"), false);
    scale_and_add_bias(pair, FeatureScale::spectral, true, {}, agents);
    EXPECT_EQ(pair.train.rows(), count);
    EXPECT_EQ(dense_rows(*pair.test)[0][0], static_cast<float>(1 / pair.scaling.factor));
    return pair.scaling.factor;
  };
  EXPECT_NE(factor(4, 1), factor(5, 1));
  EXPECT_EQ(factor(5, 2), factor(4, 1));
  EXPECT_EQ(factor(5, 3), factor(3, 1));
  for (const std::size_t agents : {0, 5, 6}) EXPECT_EQ(factor(5, agents), factor(5, 1)) << agents;
}

TEST(Scale, RefusesAnUnknownNameAndDegenerateData) {
  auto pair = small_pair();
  auto zero = label_tables(table("1\n2\n"), std::nullopt, false);
  EXPECT_THROW(scale_and_add_bias(zero, FeatureScale::spectral, false), Error);
  EXPECT_THROW(scale_and_add_bias(zero, FeatureScale::standard, false), Error);
}

TEST(Dataset, SelectsRowsInTheGivenOrder) {
  const auto sparse = label_tables(table("1 1:3 2:4\n2 2:2\n1 1:5\n"), std::nullopt, false).train;
  const auto dense =
      label_tables(decode_csv("3,4,1\n0,2,2\n5,0,1\n", "f"), std::nullopt, false).train;
  const std::vector<std::uint32_t> rows = {2, 1, 2};
  for (const auto& data : {sparse, dense}) {
    const auto selected = select_rows(data, rows);
    EXPECT_EQ(selected.sparse(), data.sparse());
    EXPECT_EQ(selected.classes, data.classes);
    EXPECT_EQ(selected.labels, (Floats{0, 1, 0}));
    EXPECT_EQ(dense_rows(selected), (std::vector<Floats>{{5, 0}, {0, 2}, {5, 0}}));
  }
}

TEST(Summary, CountsNonZerosOfDenseAndSparse) {
  EXPECT_DOUBLE_EQ(density(small_pair().train), 0.75);
  const auto dense = label_tables(decode_csv("3,4,1\n0,2,2\n", "f"), std::nullopt, false).train;
  EXPECT_DOUBLE_EQ(density(dense), 0.75);
  EXPECT_DOUBLE_EQ(class_rate(dense, 1), 0.5);
}

}  // namespace
}  // namespace porter
