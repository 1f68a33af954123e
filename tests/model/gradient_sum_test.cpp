// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/vector_math.hpp"
#include "every_simd_target.hpp"
#include "image_options.hpp"
#include "porter/core/rng.hpp"
#include "porter/model/model.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

using Factor = std::function<double(double)>;

const Factor kSmooth = [](double norm) { return std::isfinite(norm) ? 1 / (1 + norm) : 0; };
const Factor kLinear = [](double norm) {
  return std::isfinite(norm) ? (norm <= 0.7 ? 1 : 0.7 / norm) : 0;
};

// Rows that are mostly one value, as images are.
Dataset mostly_background(std::size_t rows, std::size_t features, std::size_t classes,
                          float background) {
  auto data = toy_data(rows, features, classes, false);
  RngStream rng(5, Draw::test, 0, 0);
  for (std::size_t i = 0; i < data.values.size(); ++i)
    if (i % features == 0 || rng.below(5) != 0) data.values[i] = background;
  return data;
}

// Its numbers are floats.
std::vector<double> random_start(std::size_t dim, std::uint32_t round) {
  std::vector<double> x(dim);
  RngStream(4, Draw::test, 0, round).fill_normal(x);
  for (double& value : x) value = double{static_cast<float>(value)};
  return x;
}

std::vector<std::uint32_t> first_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(i);
  return rows;
}

std::vector<double> fast_sum(const Model& model, const std::vector<double>& x,
                             const BatchRequest& batch, Workspace& workspace) {
  std::vector<double> sum(model.dim(), 7.0);
  const double scale = model.gradient_sum(x, batch, sum, workspace);
  for (double& value : sum) value *= scale;
  return sum;
}

// In float, where the model does that; at x rounded to float.
std::optional<std::vector<double>> float_sum(const Model& model, const std::vector<double>& x,
                                             const BatchRequest& batch, Workspace& workspace) {
  const std::vector<float> narrow_x(x.begin(), x.end());
  std::vector<float> sum(model.dim(), 7.0F);
  if (!model.gradient_sum_in_float(narrow_x, batch, sum, workspace)) return std::nullopt;
  return std::vector<double>(sum.begin(), sum.end());
}

// One gradient after the other, by the definition.
std::vector<double> naive_sum(const Model& model, const std::vector<double>& x,
                              const BatchRequest& batch) {
  std::vector<double> sum(model.dim(), 0.0), g(model.dim());
  for (const auto row : batch.rows) {
    model.loss(x, batch.data[batch.first_row + row], g);
    for (double& value : g) value *= batch.data.weight(batch.first_row + row);
    const double factor = batch.factor ? (*batch.factor)(std::sqrt(squared_norm(g))) : 1;
    if (factor != 0) axpy(factor, g, sum);
  }
  return sum;
}

void expect_close(const std::vector<double>& fast, const std::vector<double>& naive,
                  double tolerance) {
  EXPECT_LE(std::sqrt(squared_distance(fast, naive)),
            tolerance * (1e-3 + std::sqrt(squared_norm(naive))));
}

struct SumCase {
  const char* name;
  ModelOptions options;
  std::size_t classes;
};

const std::vector<SumCase>& sum_cases() {
  static const std::vector<SumCase> all = {
      {"logistic", {.name = "logistic", .lambda = 0.2}, 2},
      {"logistic without regulariser", {.name = "logistic"}, 2},
      {"softmax", {.name = "softmax"}, 4},
      {"softmax regularised", {.name = "softmax", .lambda = 0.01}, 4},
      {"linear", {.name = "linear", .lambda = 0.1}, 0},
      {"linear squared", {.name = "linear", .loss = LossKind::squared}, 0},
      {"linear huber", {.name = "linear", .lambda = 0.1, .loss = LossKind::huber}, 0},
      {"mlp squared", {.name = "mlp", .hidden = {5}, .loss = LossKind::squared}, 0},
      {"mlp huber", {.name = "mlp", .lambda = 0.05, .hidden = {17, 3}, .loss = LossKind::huber}, 0},
      {"mlp", {.name = "mlp", .hidden = {5}, .activation = ActivationKind::sigmoid}, 3},
      {"mlp 2",
       {.name = "mlp", .lambda = 0.05, .hidden = {4, 6}, .activation = ActivationKind::tanh},
       3},
      {"mlp tempered",
       {.name = "mlp", .hidden = {9, 5}, .activation = tempered_sigmoid(1.58, 3, 0.71)},
       3},
      {"mlp 3", {.name = "mlp", .hidden = {17, 3, 9}, .activation = ActivationKind::relu}, 11},
      {"mlp 4",
       {.name = "mlp", .hidden = {8, 16, 24, 70}, .activation = ActivationKind::sigmoid},
       2},
      {"mlp wide",
       {.name = "mlp", .lambda = 0.3, .hidden = {133}, .activation = ActivationKind::relu},
       10},
      {"mlp without hidden layer", {.name = "mlp", .lambda = 0.01, .hidden = {}}, 3},
      {"layers",
       {.name = "layers",
        .layers = {"conv:17x3/1+1", "tanh", "maxpool:1/2", "conv:5x2/1+1", "relu", "dense:9",
                   "sigmoid"}},
       3},
      {"layers regularised",
       {.name = "layers", .lambda = 0.05, .layers = {"conv:3x3/2+2", "avgpool:1", "tanh"}},
       4},
      {"layers squared",
       {.name = "layers", .layers = {"conv:4x1", "tanh"}, .loss = LossKind::squared},
       0},
      {"layers tempered",
       {.name = "layers",
        .layers = {"conv:5x3/1+1", "tempered:1.58:3:0.71", "dense:6", "tempered:1:4:0.5"}},
       3},
      {"layers that are dense", {.name = "layers", .layers = {"dense:6", "tanh"}}, 2},
  };
  return all;
}

// For batches of many sizes, each at another x.
void expect_sums(const SumCase& c, const Dataset& data, std::uint32_t& round) {
  const auto model = make_model(with_image(c.options, data.features), data.features, c.classes);
  Workspace workspace;  // the same for all sizes: nothing may be left over
  for (const std::size_t b : {130, 1, 2, 7, 0, 1, 290})
    for (const Factor* factor : {static_cast<const Factor*>(nullptr), &kSmooth, &kLinear}) {
      SCOPED_TRACE(testing::Message() << "batch " << b
                                      << (factor == &kSmooth ? " smooth"
                                          : factor           ? " linear"
                                                             : ""));
      const auto x = random_start(model->dim(), ++round);
      const auto rows = first_rows(b);
      const BatchRequest batch{data, 10, rows, factor};
      // The norm of a sum with the regulariser is rounded up by 1e-10 of the squares.
      const auto naive = naive_sum(*model, x, batch);
      expect_close(fast_sum(*model, x, batch, workspace), naive,
                   c.options.lambda > 0 && factor ? 1e-8 : 1e-12);
      const auto narrow = float_sum(*model, x, batch, workspace);
      const bool layered = c.options.name == "mlp" || c.options.name == "softmax";
      const bool images = c.options.name == "layers";
      EXPECT_EQ(narrow.has_value(), c.options.lambda == 0 && (images || (layered && b > 1)));
      if (narrow) expect_close(*narrow, naive, 1e-5);
    }
}

TEST(GradientSum, IsTheSumOfTheClippedGradients) {
  std::uint32_t round = 0;
  for (const auto& c : sum_cases())
    for (const std::size_t features : {3, 8, 29})
      for (const int kind : {0, 1, 2, 3}) {
        SCOPED_TRACE(testing::Message()
                     << c.name << ", " << features << " features, data " << kind);
        expect_sums(c,
                    kind == 0 ? toy_data(300, features, c.classes, false)
                    : kind == 1
                        ? toy_data(300, features, c.classes, true)
                        : mostly_background(300, features, c.classes, kind == 2 ? 0.0F : -0.4F),
                    round);
      }
}

TEST(GradientSum, HasTheWeightsOfTheSamples) {
  std::uint32_t round = 0;
  for (const auto& c : sum_cases())
    for (const bool sparse : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << (sparse ? " sparse" : ""));
      auto data = toy_data(300, 8, c.classes, sparse);
      add_weights(data);
      expect_sums(c, data, round);
    }
}

TEST(GradientSum, TheDefaultOfAModelOfOnesOwnAgrees) {
  auto data = toy_data(40, 6, 2, false);
  const auto model = make_model({.name = "logistic", .lambda = 0.2}, 6, 2);
  const auto x = random_start(6, 1);
  for (const int run : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
    const std::size_t b = std::array{0, 1, 5}[static_cast<std::size_t>(run % 3)];
    const Factor* factor = run % 2 == 0 ? &kSmooth : nullptr;
    if (run == 6) add_weights(data);
    const auto rows = first_rows(b);
    const BatchRequest batch{data, 3, rows, factor};
    std::vector<double> sum(6, 7.0);
    Workspace workspace;
    const double scale = model->Model::gradient_sum(x, batch, sum, workspace);
    for (double& value : sum) value *= scale;
    expect_close(sum, naive_sum(*model, x, batch), 1e-14);
  }
}

// A sample whose gradient is not finite counts for nothing, alone and among others.
// Of row 4, to the sum of batches with it.
void expect_no_contribution(const Model& model, const Dataset& data) {
  const auto x = random_start(model.dim(), 3);
  Workspace workspace;
  for (const std::vector<std::uint32_t>& rows :
       {std::vector<std::uint32_t>{4}, {1, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}) {
    const BatchRequest batch{data, 0, rows, &kSmooth};
    std::vector<double> sum(model.dim(), 7.0);
    const double scale = model.gradient_sum(x, batch, sum, workspace);
    ASSERT_TRUE(all_finite(sum));  // whatever the scale
    for (double& value : sum) value *= scale;
    const auto naive = naive_sum(model, x, batch);
    expect_close(sum, naive, 1e-8);
    if (const auto narrow = float_sum(model, x, batch, workspace))
      expect_close(*narrow, naive, 1e-5);
  }
}

// 9 features are fewer than a register of the widest set has lanes, 33 are two of them and one.
TEST(GradientSum, ABrokenSampleContributesNothing) {
  const auto inf = std::numeric_limits<float>::infinity();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for_every_simd_target([&](const std::string&) {
    for (const auto& c : sum_cases())
      for (const bool images : {false, true})
        for (const std::size_t features : {9, 33})
          for (const float broken : {inf, -inf, nan})
            for (const std::size_t column : {std::size_t{0}, std::size_t{5}, features - 1}) {
              SCOPED_TRACE(testing::Message() << c.name << (images ? " images " : " ") << broken
                                              << " at " << column << " of " << features);
              auto data = images ? mostly_background(60, features, c.classes, -0.4F)
                                 : toy_data(60, features, c.classes, false);
              data.values[4 * features + column] = broken;
              expect_no_contribution(
                  *make_model(with_image(c.options, features), features, c.classes), data);
            }
  });
}

// A weight that is not a number must show in loss and gradient, whatever lies above it.
TEST(GradientSum, ABrokenWeightIsSeenInEveryModel) {
  for (const auto& c : sum_cases()) {
    SCOPED_TRACE(c.name);
    const auto data = toy_data(20, 9, c.classes, false);
    const auto model = make_model(with_image(c.options, 9), 9, c.classes);
    for (const std::size_t at : {std::size_t{0}, model->dim() - 1}) {
      auto x = random_start(model->dim(), 3);
      x[at] = std::numeric_limits<double>::quiet_NaN();
      EXPECT_TRUE(std::isnan(model->evaluate(x, data, 0, 20, {}).loss));
      const std::vector<std::span<const double>> points = {x};
      std::vector<Model::Totals> totals(1);
      model->evaluate_points(points, data, 0, 20, totals);
      EXPECT_TRUE(std::isnan(totals[0].loss));
      std::vector<double> sum(model->dim());
      Workspace workspace;
      const auto rows = first_rows(3);
      model->gradient_sum(x, {data, 0, rows, nullptr}, sum, workspace);
      EXPECT_FALSE(all_finite(sum));
    }
  }
}

// Weights come before the clip: no sample pulls harder than the threshold, however it is weighed,
// and a weight of 1 for all changes no bit.
TEST(GradientSum, WeightsDoNotMoveTheThreshold) {
  for (const auto& c : sum_cases()) {
    SCOPED_TRACE(c.name);
    auto data = toy_data(60, 9, c.classes, false);
    const auto plain = data;
    data.weights.assign(60, 1.0F);
    const auto model = make_model(with_image(c.options, 9), 9, c.classes);
    const auto x = random_start(model->dim(), 3);
    Workspace workspace;
    for (const std::size_t b : {1, 7, 50}) {
      const auto rows = first_rows(b);
      EXPECT_EQ(fast_sum(*model, x, {data, 0, rows, &kLinear}, workspace),
                fast_sum(*model, x, {plain, 0, rows, &kLinear}, workspace));
      EXPECT_EQ(fast_sum(*model, x, {data, 0, rows}, workspace),
                fast_sum(*model, x, {plain, 0, rows}, workspace));
    }
    add_weights(data);
    for (std::uint32_t row = 0; row < 60; ++row) {
      const std::vector<std::uint32_t> one = {row}, two = {row, 0};  // row 0 weighs nothing
      for (const auto& rows : {one, two}) {
        const auto sum = fast_sum(*model, x, {data, 0, rows, &kLinear}, workspace);
        EXPECT_LE(std::sqrt(squared_norm(sum)), 0.7 * (1 + 1e-12)) << row;
        if (data.weights[row] == 0) {
          EXPECT_EQ(squared_norm(sum), 0) << row;
        }
      }
    }
  }
}

// Where data term and regulariser nearly cancel, the digits of their sum do too; the clipped
// gradient must not become longer than the threshold.
TEST(GradientSum, ClipsToTheThresholdWhereTheRegulariserCancelsTheData) {
  Dataset data;
  data.features = 2;
  data.values = {1, 0, 1, 0};
  data.labels = {1, 1};
  data.classes = {"0", "1"};
  const double tau = 1e-7;
  const Factor clip = [&](double norm) { return norm <= tau ? 1 : tau / norm; };
  // -1 / (1 + exp(x)) + 2 lambda x / (1 + x^2)^2 = 0 at x = 0.3 for this lambda
  const double x0 = 0.3;
  const double lambda = (1 + x0 * x0) * (1 + x0 * x0) / (2 * x0) / (1 + std::exp(x0));
  const auto model = make_model({.name = "logistic", .lambda = lambda}, 2, 2);
  const std::vector<std::uint32_t> rows = {0, 1};
  for (int step = -50; step <= 50; ++step) {
    const std::vector<double> x = {x0 + step * 1e-8, 0};
    Workspace workspace;
    const auto sum = fast_sum(*model, x, {data, 0, rows, &clip}, workspace);
    EXPECT_LE(std::sqrt(squared_norm(sum)), 2 * tau * (1 + 1e-9)) << step;
  }
}

}  // namespace
}  // namespace porter
