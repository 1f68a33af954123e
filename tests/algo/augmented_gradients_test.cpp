// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/vector_math.hpp"
#include "porter/algo/gradients.hpp"
#include "porter/config/config.hpp"
#include "porter/core/error.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

// Eight images of 6 x 5 pixels at each of two agents, and a small network over them.
struct Pictures {
  static constexpr ImageShape kShape{6, 5};
  Dataset data = toy_data(16, kShape.pixels(), 3, false);
  std::unique_ptr<const Model> model = make_model(
      {.name = "layers", .layers = {"conv:2x3", "tanh", "dense:4", "tanh"}, .image = kShape},
      kShape.pixels(), 3);
  ThreadPool pool{1};
  Rows X = [this] {
    Rows rows(2, model->dim());
    for (std::uint32_t i = 0; i < 2; ++i) RngStream(1, Draw::test, i, 0).fill_normal(rows.row(i));
    return rows;
  }();

  GradientOptions options(const Augmentation& augment, double tau = 0.5) const {
    return {.sampler = {Sampler::fixed, 8, 8},
            .clip = {Clip::Kind::linear, tau},
            .augment = augment,
            .image = kShape};
  }
  Rows estimate(const GradientOptions& options, std::uint32_t round = 1) {
    Rows G(2, model->dim());
    GradientEstimator({*model, data, 2}, options, pool).estimate(X, round, G);
    return G;
  }
};

void compare_with_loops(Pictures&& f) {
  const Augmentation augment{.pixels = 1, .copies = 3, .flips = true};
  const Clip clip{Clip::Kind::linear, 0.5};
  const auto G = f.estimate(f.options(augment), 4);
  std::vector<double> gradient(f.model->dim());
  std::vector<float> image(Pictures::kShape.pixels());
  bool clipped = false, moved = false;
  for (std::uint32_t agent = 0; agent < 2; ++agent) {
    std::vector<double> expected(f.model->dim());
    for (std::uint32_t record = 0; record < 8; ++record) {
      std::vector<ImageMove> moves(3);
      draw_moves(augment, 1, agent, 4, record, moves);
      const auto sample = f.data[agent * 8 + record];
      std::vector<double> mean(f.model->dim());
      for (const auto& move : moves) {
        move_image(Pictures::kShape, sample.values, move, image);
        auto copy = sample;
        copy.values = image;
        weighted_loss(*f.model, f.X.row(agent), copy, gradient);
        axpy(1.0 / 3, gradient, mean);
        moved |= move.down != 0 || move.right != 0;
      }
      clipped |= squared_norm(mean) > 0.25;
      clip.apply(mean);
      axpy(1.0 / 8, mean, expected);
    }
    EXPECT_LT(squared_distance(G.row(agent), expected), 1e-26);
  }
  EXPECT_TRUE(clipped && moved);
}

TEST(AugmentedGradients, AreMeansOverCopiesClippedSampleBySample) { compare_with_loops({}); }

// A record's weight is in its gradient before that is clipped.
TEST(AugmentedGradients, HaveTheWeightsOfTheirRecords) {
  Pictures f;
  for (int i = 0; i < 16; ++i) f.data.weights.push_back(static_cast<float>(i % 5) / 4);
  compare_with_loops(std::move(f));
}

// Copies that do not move are the sample: nothing but rounding differs.
TEST(AugmentedGradients, OfCopiesThatStayAreThoseOfTheSample) {
  Pictures f;
  const auto plain = f.estimate(f.options({}));
  const auto copied = f.estimate(f.options({.pixels = 0, .copies = 4}));
  for (std::size_t agent = 0; agent < 2; ++agent)
    EXPECT_LT(squared_distance(plain.row(agent), copied.row(agent)), 1e-28);
}

// What a record can change is bounded as without copies: by the clip over the batch.
TEST(AugmentedGradients, ARecordMovesTheMeanByNoMoreThanTheClip) {
  Pictures f;
  const auto options = f.options({.pixels = 2, .copies = 5}, 0.01);
  const auto with = f.estimate(options);
  f.data.voids.assign(16, 0);
  f.data.voids[3] = 1;
  const auto without = f.estimate(options);
  EXPECT_LE(std::sqrt(squared_distance(with.row(0), without.row(0))), 0.01 / 8 * (1 + 1e-12));
  EXPECT_GT(squared_distance(with.row(0), without.row(0)), 0);
  EXPECT_EQ(squared_distance(with.row(1), without.row(1)), 0);
}

TEST(AugmentedGradients, ARecordThatIsNotFiniteCountsForNothing) {
  Pictures f;
  const auto options = f.options({.pixels = 1, .copies = 2});
  f.data.voids = {0, 0, 1};
  const auto without = f.estimate(options);
  f.data.voids.clear();
  f.data.values[2 * Pictures::kShape.pixels() + 12] = std::numeric_limits<float>::quiet_NaN();
  const auto with = f.estimate(options);
  EXPECT_EQ(with.flat(), without.flat());
}

TEST(AugmentedGradients, AreForImagesAndOneGradientOfASample) {
  Pictures f;
  auto options = f.options({.pixels = 1, .copies = 2});
  options.image = {3, 5};
  EXPECT_THROW(f.estimate(options), Error);
  const auto key = "algorithm.augment=shift:1x2";
  EXPECT_NO_THROW(parse_config("", "test", {"model.name=cnn", key}));
  EXPECT_THROW(parse_config("", "test", {"model.name=mlp", key}), Error);
  for (const std::string name : {"soteriafl-svrg", "motef-vr", "ddp-srm"})
    EXPECT_THROW(parse_config("", "test", {"model.name=cnn", key, "algorithm.name=" + name}),
                 Error);
}

}  // namespace
}  // namespace porter
