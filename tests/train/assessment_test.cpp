// SPDX-License-Identifier: Apache-2.0
#include "train/assessment.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace porter {
namespace {

// Its feature is the probability of class 1.
class Given final : public Model {
 public:
  std::size_t dim() const override { return 1; }
  double loss(std::span<const double>, const Sample&, std::span<double>) const override {
    return 0;
  }
  double predict(std::span<const double>, const Sample& sample) const override {
    return sample.values[0] > 0.5F ? 1 : 0;
  }
  void probabilities(std::span<const double>, const Sample& sample,
                     std::span<double> out) const override {
    out[1] = double{sample.values[0]};
    out[0] = 1 - out[1];
  }
};

Assessment assessed(const std::vector<float>& probabilities, const std::vector<float>& labels,
                    std::vector<std::uint8_t> voids = {}, std::vector<float> weights = {}) {
  Dataset data;
  data.features = 1;
  data.values = probabilities;
  data.labels = labels;
  data.classes = {"no", "yes"};
  data.voids = std::move(voids);
  data.weights = std::move(weights);
  return assess(Given(), data, std::vector<double>{0});
}

TEST(Assessment, CountsPredictionsByClass) {
  const auto found = assessed({0.9F, 0.8F, 0.3F, 0.6F, 0.1F}, {1, 1, 1, 0, 0});
  EXPECT_EQ(found.confusion, (std::vector<std::vector<std::size_t>>{{1, 1}, {1, 2}}));
  EXPECT_DOUBLE_EQ(*found.classes[1].precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*found.classes[1].recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*found.classes[0].f1, 0.5);
  EXPECT_EQ(found.classes[0].records, 2U);
}

// By its meaning: all pairs of a record of each class.
double pairwise_auc(const std::vector<float>& p, const std::vector<float>& y) {
  double wins = 0, pairs = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = 0; j < p.size(); ++j)
      if (y[i] == 1 && y[j] == 0) {
        ++pairs;
        wins += p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0;
      }
  return wins / pairs;
}

TEST(Assessment, AucIsTheChanceOfTheRightOrder) {
  for (int seed = 1; seed < 30; ++seed) {
    std::vector<float> p, y;
    for (int i = 0; i < 40; ++i) {
      const int die = (i * 7919 + seed * 104729) % 97;
      p.push_back(static_cast<float>(die % 11) / 11);  // with ties
      y.push_back(die * seed % 5 < 2 ? 1.0F : 0.0F);
    }
    const auto found = assessed(p, y);
    if (!found.auc) continue;
    EXPECT_NEAR(*found.auc, pairwise_auc(p, y), 1e-12) << seed;
    EXPECT_EQ(found.roc.back().true_positives, 1);
    EXPECT_EQ(found.roc.back().false_positives, 1);
  }
  EXPECT_DOUBLE_EQ(*assessed({0.1F, 0.9F}, {0, 1}).auc, 1);
  EXPECT_DOUBLE_EQ(*assessed({0.9F, 0.1F}, {0, 1}).auc, 0);
}

// A record of twice the weight is as good as two; numbers of records stay what they are.
TEST(Assessment, WeighsShares) {
  std::vector<float> p, y, weights, copied_p, copied_y;
  for (int i = 0; i < 40; ++i) {
    const int die = i * 7919 % 97, copies = die % 4;
    p.push_back(static_cast<float>(die % 11) / 11);
    y.push_back(die % 5 < 2 ? 1.0F : 0.0F);
    weights.push_back(static_cast<float>(copies) / 4);
    copied_p.insert(copied_p.end(), static_cast<std::size_t>(copies), p.back());
    copied_y.insert(copied_y.end(), static_cast<std::size_t>(copies), y.back());
  }
  const auto found = assessed(p, y, {}, weights), copied = assessed(copied_p, copied_y);
  EXPECT_EQ(found.records, 40U);
  EXPECT_EQ(found.confusion, assessed(p, y).confusion);
  EXPECT_NEAR(*found.auc, *copied.auc, 1e-12);
  EXPECT_NEAR(*found.calibration_error, *copied.calibration_error, 1e-12);
  for (const std::size_t c : {0, 1}) {
    EXPECT_NEAR(*found.classes[c].precision, *copied.classes[c].precision, 1e-12);
    EXPECT_NEAR(*found.classes[c].recall, *copied.classes[c].recall, 1e-12);
    EXPECT_NEAR(*found.classes[c].f1, *copied.classes[c].f1, 1e-12);
  }
}

TEST(Assessment, CalibrationComparesProbabilitiesWithShares) {
  const auto found = assessed({0.25F, 0.25F, 0.25F, 0.25F, 1.0F}, {1, 0, 0, 0, 0});
  ASSERT_EQ(found.calibration.size(), 2U);
  EXPECT_EQ(found.calibration[0].records, 4U);
  EXPECT_DOUBLE_EQ(found.calibration[0].observed, 0.25);
  EXPECT_DOUBLE_EQ(found.calibration[1].predicted, 1);
  EXPECT_DOUBLE_EQ(*found.calibration_error, 0.2);
}

TEST(Assessment, LeavesOutWhatCannotBeSaid) {
  const auto one_class = assessed({0.2F, 0.3F}, {0, 0});
  EXPECT_FALSE(one_class.auc.has_value());
  EXPECT_FALSE(one_class.classes[1].recall.has_value());
  EXPECT_FALSE(one_class.classes[1].precision.has_value());
  const auto overflown = assessed({std::nanf(""), 0.3F, 0.9F}, {0, 0, 1});
  EXPECT_EQ(overflown.records, 3U);
  EXPECT_FALSE(overflown.auc.has_value());
  EXPECT_TRUE(overflown.roc.empty());
  EXPECT_FALSE(overflown.calibration_error.has_value());
  const auto with_void = assessed({0.2F, 0.9F}, {0, 1}, {0, 1});
  EXPECT_EQ(with_void.records, 1U);
}

}  // namespace
}  // namespace porter
