// SPDX-License-Identifier: Apache-2.0
#include "porter/model/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "every_simd_target.hpp"
#include "image_options.hpp"
#include "model/terms.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "slope.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

struct Case {
  const char* name;
  ModelOptions options;
  std::size_t classes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"logistic", {.name = "logistic", .lambda = 0.2}, 2},
      {"softmax", {.name = "softmax", .lambda = 0.01}, 4},
      {"linear", {.name = "linear", .lambda = 0.1}, 0},
      {"linear squared", {.name = "linear", .loss = LossKind::squared}, 0},
      {"linear huber", {.name = "linear", .lambda = 0.1, .loss = LossKind::huber}, 0},
      {"mlp squared", {.name = "mlp", .hidden = {5}, .loss = LossKind::squared}, 0},
      {"mlp huber", {.name = "mlp", .lambda = 0.05, .hidden = {4, 6}, .loss = LossKind::huber}, 0},
      {"mlp cauchy", {.name = "mlp", .hidden = {}, .loss = LossKind::cauchy}, 0},
      {"mlp sigmoid", {.name = "mlp", .hidden = {5}, .activation = ActivationKind::sigmoid}, 3},
      {"mlp tanh",
       {.name = "mlp", .lambda = 0.05, .hidden = {4, 6}, .activation = ActivationKind::tanh},
       3},
      {"mlp tempered",
       {.name = "mlp", .hidden = {4, 6}, .activation = tempered_sigmoid(1.58, 3, 0.71)},
       3},
      {"mlp relu", {.name = "mlp", .hidden = {7, 3, 5}, .activation = ActivationKind::relu}, 2},
      {"mlp without hidden layer", {.name = "mlp", .hidden = {}}, 3},
      {"layers",
       {.name = "layers",
        .layers = {"conv:3x3/1+1", "tanh", "conv:4x2/2+1", "sigmoid", "avgpool:1", "dense:5",
                   "relu"}},
       3},
      {"layers regularised",
       {.name = "layers", .lambda = 0.05, .layers = {"conv:2x3/1+1", "maxpool:1/2", "tanh"}},
       4},
      {"layers tempered",
       {.name = "layers",
        .layers = {"conv:3x3/1+1", "tempered:1.58:3:0.71", "dense:5", "tempered:1:4:0.5"}},
       3},
      {"layers huber",
       {.name = "layers", .layers = {"dense:4", "tanh"}, .loss = LossKind::huber},
       0},
      {"no layers", {.name = "layers"}, 2},
  };
  return all;
}

std::vector<double> random_point(std::size_t dim, std::uint32_t round) {
  std::vector<double> x(dim);
  RngStream(4, Draw::test, 0, round).fill_normal(x);
  return x;
}

TEST(Model, GradientsAgreeWithFiniteDifferences) {
  for (const auto& c : cases())
    for (const bool sparse : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << (sparse ? " sparse" : " dense"));
      const auto data = toy_data(6, 9, c.classes, sparse);
      const auto model = make_model(with_image(c.options, data.features), data.features, c.classes);
      for (std::size_t row = 0; row < data.rows(); ++row) {
        auto x = random_point(model->dim(), static_cast<std::uint32_t>(row));
        std::vector<double> gradient(model->dim(), 7.0);
        model->loss(x, data[row], gradient);
        for (std::size_t j = 0; j < x.size(); ++j) {
          const auto loss = [&](const auto& at) { return model->loss(at, data[row], {}); };
          // Central differences: truncation h^2 and rounding 1e-16 / h are both near 1e-10.
          EXPECT_NEAR(gradient[j], slope_of(loss, x, j), 2e-8) << "coordinate " << j;
        }
      }
    }
}

TEST(Model, BlockedEvaluationEqualsTheSumOverRows) {
  for (const auto& c : cases())
    for (const bool sparse : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << (sparse ? " sparse" : " dense"));
      const auto data = toy_data(250, 11, c.classes, sparse);  // three blocks, the last not full
      const auto model = make_model(with_image(c.options, data.features), data.features, c.classes);
      const auto x = random_point(model->dim(), 1);
      std::vector<double> fast(model->dim(), 1.0), slow(model->dim(), 1.0);
      const auto a = model->evaluate(x, data, 3, 250, fast);
      const auto b = model->Model::evaluate(x, data, 3, 250, slow);
      EXPECT_NEAR(a.loss, b.loss, 1e-9 * std::abs(b.loss));
      EXPECT_EQ(a.correct, b.correct);
      EXPECT_NEAR(a.squared_error, b.squared_error, 1e-9 * b.squared_error);
      for (std::size_t j = 0; j < fast.size(); ++j) EXPECT_NEAR(fast[j], slow[j], 1e-9);
      EXPECT_EQ(model->evaluate(x, data, 3, 250, {}).loss, a.loss);
    }
}

// In float where that saves time: a loss near 1 is off by 1e-7 or less.
TEST(Model, EvaluatesSeveralPointsAsOneByOne) {
  for (const auto& c : cases())
    for (const bool sparse : {false, true})
      for (const double size : {1.0, 1e20}) {  // the second does not fit float
        SCOPED_TRACE(testing::Message() << c.name << (sparse ? " sparse " : " dense ") << size);
        const auto data = toy_data(700, 9, c.classes, sparse);
        const auto model =
            make_model(with_image(c.options, data.features), data.features, c.classes);
        std::vector<std::vector<double>> x;
        for (std::uint32_t p = 0; p < 11; ++p) x.push_back(random_point(model->dim(), p));
        for (double& value : x[3]) value *= size;
        const std::vector<std::span<const double>> points(x.begin(), x.end());
        std::vector<Model::Totals> totals(points.size());
        model->evaluate_points(points, data, 5, 690, totals);
        for (std::size_t p = 0; p < points.size(); ++p) {
          const auto one = model->evaluate(points[p], data, 5, 690, {});
          EXPECT_NEAR(totals[p].loss, one.loss, 1e-6 * std::abs(one.loss)) << p;
          EXPECT_EQ(totals[p].correct, one.correct) << p;  // no score is so near to another
          EXPECT_EQ(totals[p].squared_error, one.squared_error) << p;  // never in float
        }
      }
}

// Points whose first layers are multiplied together: all of them, some, none.
TEST(Model, PointsMeasuredTogetherHaveTheBitsOfEachAlone) {
  const std::vector<ModelOptions> models = {{.name = "softmax"},
                                            {.name = "mlp", .hidden = {5}},
                                            {.name = "mlp", .hidden = {100, 3}},
                                            {.name = "mlp", .hidden = {400}}};
  const auto data = toy_data(300, 300, 3, true);
  for (const auto& options : models) {
    SCOPED_TRACE(testing::Message() << options.name << ' ' << options.hidden[0]);
    const auto model = make_model(options, data.features, 3);
    std::vector<std::vector<double>> x;
    for (std::uint32_t p = 0; p < 7; ++p) x.push_back(random_point(model->dim(), p));
    const std::vector<std::span<const double>> points(x.begin(), x.end());
    std::vector<Model::Totals> together(points.size());
    model->evaluate_points(points, data, 0, 300, together);
    for (std::size_t p = 0; p < points.size(); ++p) {
      Model::Totals alone;
      model->evaluate_points({&points[p], 1}, data, 0, 300, {&alone, 1});
      EXPECT_EQ(together[p].loss, alone.loss) << p;
      EXPECT_EQ(together[p].correct, alone.correct) << p;
    }
  }
}

TEST(Model, StaysFiniteAtHugeScores) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto data = toy_data(5, 9, c.classes, false);
    const auto model = make_model(with_image(c.options, data.features), data.features, c.classes);
    auto x = random_point(model->dim(), 2);
    for (double& value : x) value *= 1e4;
    std::vector<double> gradient(model->dim());
    for (std::size_t row = 0; row < data.rows(); ++row) {
      EXPECT_TRUE(std::isfinite(model->loss(x, data[row], gradient)));
      EXPECT_TRUE(all_finite(gradient));
    }
  }
}

TEST(Model, ThePapersNetworkHas50890Parameters) {
  EXPECT_EQ(make_model({.name = "mlp"}, 784, 10)->dim(), 50890U);
  EXPECT_EQ(make_model({.name = "logistic"}, 124, 2)->dim(), 124U);
}

TEST(Model, PredictsTheClassOfTheLargestScore) {
  const auto data = toy_data(40, 6, 3, false);
  const auto model = make_model({.name = "softmax"}, 6, 3);
  std::vector<double> x(18, 0.0);
  std::vector<double> gradient(18);
  for (int step = 0; step < 300; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    model->evaluate(x, data, 0, 40, gradient);
    axpy(-0.05, gradient, x);
  }
  EXPECT_EQ(model->evaluate(x, data, 0, 40, {}).correct,
            40U);  // the labels come from a linear teacher
}

TEST(Model, RefusesMoreParametersThanAMessageHasPositions) {
  const std::size_t wide = 2'000'000'000;
  for (const std::vector<std::size_t>& hidden :
       {std::vector<std::size_t>{wide}, {wide, wide}, {1, wide, wide}, {50'000'000}})
    try {
      make_model({.name = "mlp", .hidden = hidden}, 123, 2);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("model.hidden: expected at most 4294967295"), 0U);
    }
}

TEST(Model, RefusesWhatDoesNotFit) {
  EXPECT_THROW(make_model({.name = "logistic"}, 4, 3), Error);
  EXPECT_THROW(make_model({.name = "logistic"}, 4, 0), Error);
  EXPECT_THROW(make_model({.name = "linear"}, 4, 2), Error);
  EXPECT_THROW(make_model({.name = "mlp", .loss = LossKind::huber}, 4, 2), Error);
  EXPECT_THROW(make_model({.name = "logistic", .loss = LossKind::huber}, 4, 2), Error);
  EXPECT_THROW(make_model({.name = "softmax"}, 4, 3, 2), Error);
  EXPECT_THROW(make_model({.name = "mlp"}, 4, 0, 2), Error);
  EXPECT_THROW(make_model({.name = "forest"}, 4, 2), Error);
  EXPECT_THROW(make_model({.name = "mlp", .hidden = {0}}, 4, 2), Error);
  EXPECT_THROW(make_model({.name = "logistic", .lambda = -1}, 4, 2), Error);
}

TEST(Regulariser, KeepsItsLimitWhereSquaresOverflow) {
  for_every_simd_target([](const std::string&) {
    for (std::size_t size = 1; size <= 25; ++size)
      for (const double large : {1.3e154, 1.4e154, -1e200, 1.7e308}) {
        std::vector<double> x(size, 0.0), gradient(size, 0.0);
        x[size / 2] = large;
        EXPECT_EQ(regulariser(0.5, x, gradient), 0.5) << large;
        EXPECT_EQ(gradient, std::vector<double>(size, 0.0)) << large;
        for (const double broken : {double{NAN}, double{INFINITY}}) {
          x[size / 2] = broken;
          EXPECT_TRUE(std::isnan(regulariser(0.5, x, {}))) << broken;
        }
      }
  });
}

// Each of the three sums of n terms may have lost n units of rounding.
TEST(NormOfSum, IsNeverTooSmallHoweverManyTermsCancel) {
  EXPECT_GE(norm_of_sum(1, -1, 1, 100'000'000), std::sqrt(1e8 * 0x1p-51));
  EXPECT_EQ(norm_of_sum(1, -1, 1, 100), norm_of_sum(1, -1, 1, 1));
}

}  // namespace
}  // namespace porter
