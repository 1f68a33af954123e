// SPDX-License-Identifier: Apache-2.0
// Sums over rows with weights, of every model.
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "image_options.hpp"
#include "porter/core/rng.hpp"
#include "porter/model/model.hpp"
#include "slope.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

struct WeightCase {
  const char* name;
  ModelOptions options;
  std::size_t classes, outputs = 1;
};

const std::vector<WeightCase>& weight_cases() {
  static const std::vector<WeightCase> all = {
      {"logistic", {.name = "logistic", .lambda = 0.2}, 2},
      {"softmax", {.name = "softmax", .lambda = 0.1}, 4},
      {"mlp", {.name = "mlp", .lambda = 0.1, .hidden = {5}}, 3},
      {"linear", {.name = "linear", .lambda = 0.1}, 0},
      {"linear, targets", {.name = "linear", .loss = LossKind::squared}, 0, 3},
      {"mlp, targets", {.name = "mlp", .hidden = {4}, .loss = LossKind::huber}, 0, 2},
      {"layers", {.name = "layers", .layers = {"conv:3x2", "tanh", "dense:4", "relu"}}, 3},
      {"layers, targets",
       {.name = "layers", .layers = {"conv:3x2", "tanh"}, .loss = LossKind::huber},
       0,
       2},
  };
  return all;
}

Dataset weighted_data(const WeightCase& c, std::size_t rows, bool sparse) {
  auto data = c.classes > 0 ? toy_data(rows, 6, c.classes, sparse)
                            : toy_targets(rows, 6, c.outputs, sparse);
  add_weights(data);
  return data;
}

std::vector<double> random_point(std::size_t dim) {
  std::vector<double> x(dim);
  RngStream(4, Draw::test, 0, 9).fill_normal(x);
  return x;
}

TEST(Weights, SumsAreThoseOfPlainLoops) {
  for (const auto& c : weight_cases())
    for (const bool sparse : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << (sparse ? " sparse" : ""));
      const auto data = weighted_data(c, 300, sparse);
      const auto model = make_model(with_image(c.options, 6), 6, c.classes, c.outputs);
      const auto x = random_point(model->dim());
      std::vector<double> gradient(model->dim(), 0.0), naive = gradient, one = gradient;
      std::vector<double> predictions(data.outputs);
      Model::Totals expected;
      for (std::size_t row = 17; row < 280; ++row) {
        const double w = data.weight(row);
        expected.loss += w * model->loss(x, data[row], one);
        for (std::size_t j = 0; j < one.size(); ++j) naive[j] += w * one[j];
        if (c.classes > 0) {
          expected.correct += model->predict(x, data[row]) == double{data.labels[row]} ? w : 0;
          continue;
        }
        model->predict_targets(x, data[row], predictions);
        for (std::size_t o = 0; o < data.outputs; ++o)
          expected.squared_error += w * std::pow(predictions[o] - data.targets(row)[o], 2);
      }
      const auto found = model->evaluate(x, data, 17, 280, gradient);
      EXPECT_NEAR(found.loss, expected.loss, 1e-10 * expected.loss);
      EXPECT_NEAR(found.correct, expected.correct, 1e-10);
      EXPECT_NEAR(found.squared_error, expected.squared_error, 1e-10 * expected.squared_error);
      EXPECT_LE(std::sqrt(squared_distance(gradient, naive)),
                1e-11 * std::sqrt(squared_norm(naive)));

      const std::vector<std::span<const double>> points = {x, x};
      std::vector<Model::Totals> totals(2);
      model->evaluate_points(points, data, 17, 280, totals);
      EXPECT_NEAR(totals[1].loss, expected.loss, 2e-6 * expected.loss);
      EXPECT_NEAR(totals[1].correct, expected.correct, 1e-10);
    }
}

TEST(Weights, TheGradientIsTheSlopeOfTheLoss) {
  for (const auto& c : weight_cases()) {
    SCOPED_TRACE(c.name);
    const auto data = weighted_data(c, 40, false);
    const auto model = make_model(with_image(c.options, 6), 6, c.classes, c.outputs);
    const auto x = random_point(model->dim());
    std::vector<double> gradient(model->dim(), 0.0), batch(model->dim());
    model->evaluate(x, data, 0, 40, gradient);
    std::vector<std::uint32_t> rows(40);
    for (std::uint32_t i = 0; i < 40; ++i) rows[i] = i;
    Workspace workspace;
    const double scale = model->gradient_sum(x, {data, 0, rows}, batch, workspace);
    const auto loss = [&](const auto& at) { return model->evaluate(at, data, 0, 40, {}).loss; };
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double slope = slope_of(loss, x, j);
      EXPECT_NEAR(gradient[j], slope, 1e-6 * (1 + std::abs(slope))) << j;
      EXPECT_NEAR(scale * batch[j], slope, 1e-6 * (1 + std::abs(slope))) << j;
    }
  }
}

// Half a weight for each of two equal rows is one row.
TEST(Weights, SplitBetweenCopiesChangesNothing) {
  for (const auto& c : weight_cases()) {
    SCOPED_TRACE(c.name);
    const auto once = weighted_data(c, 50, true);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < 100; ++i) rows.push_back(i / 2);
    auto twice = select_rows(once, rows);
    for (float& weight : twice.weights) weight /= 2;
    const auto model = make_model(with_image(c.options, 6), 6, c.classes, c.outputs);
    const auto x = random_point(model->dim());
    EXPECT_NEAR(model->evaluate(x, twice, 0, 100, {}).loss,
                model->evaluate(x, once, 0, 50, {}).loss, 1e-9);
  }
}

}  // namespace
}  // namespace porter
