// SPDX-License-Identifier: Apache-2.0
#include "train/evaluator.hpp"

#include <gtest/gtest.h>

#include "porter/core/rng.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

// The loss of the worst agent when all stand at zero but one.
double worst_loss(std::size_t agents, std::size_t outlier) {
  const auto data = toy_data(40, 3, 2, false);
  const auto model = make_model({.name = "logistic"}, 3, 2);
  ThreadPool pool(2);
  Rows X(agents, model->dim());
  for (double& value : X.row(outlier)) value = 100;
  MetricsRow row;
  Evaluator({*model, data, agents}, nullptr, pool).measure(X, row);
  return row.agent_loss_worst;
}

TEST(Evaluator, MeasuresAllOfThousandAgents) {
  for (const std::size_t outlier : {0, 1, 500, 999})
    EXPECT_GT(worst_loss(1000, outlier), 1) << outlier;  // zeros have the loss log 2
}

TEST(Evaluator, MeasuresEverySecondOfTwoThousandAgents) {
  for (const std::size_t outlier : {0, 2, 1000, 1998})
    EXPECT_GT(worst_loss(2000, outlier), 1) << outlier;
  for (const std::size_t outlier : {1, 999, 1999}) EXPECT_LT(worst_loss(2000, outlier), 1);
}

// The pieces of work are the same, and so is the order of their sums.
TEST(Evaluator, GivesTheSameBitsForAnyNumberOfThreads) {
  const auto train = toy_data(700, 9, 3, false), test = toy_data(500, 9, 3, false, 1);
  for (const char* name : {"mlp", "softmax"})
    for (const std::size_t agents : {2, 10, 40}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << agents);
      const auto model = make_model({.name = name, .hidden = {5}}, 9, 3);
      Rows X(agents, model->dim());
      for (std::size_t i = 0; i < agents; ++i)
        RngStream(5, Draw::test, static_cast<std::uint32_t>(i), 0).fill_normal(X.row(i));
      MetricsRow first;
      for (const std::size_t threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        MetricsRow row;
        Evaluator({*model, train, agents}, &test, pool).measure(X, row);
        if (threads == 1) first = row;
        EXPECT_EQ(metrics_line(row), metrics_line(first)) << threads;
      }
    }
}

// All figures are those of as many copies of a row as its weight says.
TEST(Evaluator, WeighsAllFigures) {
  for (const std::size_t classes : {3, 0}) {
    SCOPED_TRACE(classes);
    const auto rows_of = [&](std::uint32_t round) {
      return classes > 0 ? toy_data(90, 5, classes, false, round)
                         : toy_targets(90, 5, 2, false, 1, round);
    };
    auto train = rows_of(0), test = rows_of(1);
    std::vector<std::uint32_t> copies;
    for (std::uint32_t row = 0; row < 90; ++row) {
      copies.insert(copies.end(), row % 4, row);
      train.weights.push_back(static_cast<float>(row % 4) / 4);
    }
    test.weights = train.weights;
    auto all = select_rows(train, copies), all_test = select_rows(test, copies);
    all.weights.clear();
    all_test.weights.clear();
    const auto model = make_model({.name = classes > 0 ? "softmax" : "linear", .lambda = 0.1}, 5,
                                  classes, train.outputs);
    ThreadPool pool(2);
    Rows X(1, model->dim());
    RngStream(5, Draw::test, 0, 0).fill_normal(X.row(0));
    MetricsRow weighed, copied;
    Evaluator({*model, train, 1}, &test, pool).measure(X, weighed);
    Evaluator({*model, all, 1}, &all_test, pool).measure(X, copied);
    EXPECT_NEAR(weighed.loss, copied.loss, 1e-12);
    EXPECT_NEAR(weighed.grad_norm_sq, copied.grad_norm_sq, 1e-12);
    EXPECT_NEAR(*weighed.test_loss, *copied.test_loss, 1e-12);
    if (classes > 0) {
      EXPECT_NEAR(*weighed.train_accuracy, *copied.train_accuracy, 1e-12);
      EXPECT_NEAR(*weighed.test_accuracy, *copied.test_accuracy, 1e-12);
      EXPECT_NEAR(majority_rate(test), majority_rate(all_test), 1e-12);
    } else {
      EXPECT_NEAR(*weighed.train_r2, *copied.train_r2, 1e-12);
      EXPECT_NEAR(*weighed.test_rmse, *copied.test_rmse, 1e-12);
    }
  }
}

// At the start all agents stand at one point, which is then measured once.
TEST(Evaluator, EqualAgentsAreMeasuredAsEachOfThem) {
  const auto train = toy_data(300, 9, 3, false), test = toy_data(200, 9, 3, false, 1);
  const auto model = make_model({.name = "mlp", .hidden = {5}}, 9, 3);
  ThreadPool pool(2);
  std::vector<double> x(model->dim());
  RngStream(5, Draw::test, 0, 0).fill_normal(x);
  auto X = repeat_row(x, 10);
  const Evaluator evaluator({*model, train, 10}, &test, pool);
  MetricsRow equal, nearly;
  evaluator.measure(X, equal);
  X.row(9)[0] += 1e-9;
  evaluator.measure(X, nearly);
  EXPECT_NEAR(equal.agent_loss_mean, nearly.agent_loss_mean, 1e-7);
  EXPECT_NEAR(equal.agent_loss_worst, equal.agent_loss_mean, 1e-12);
  EXPECT_DOUBLE_EQ(*equal.agent_accuracy_mean, *nearly.agent_accuracy_mean);
}

TEST(Evaluator, RecordsThatCountForNothingAreNotMeasured) {
  auto train = toy_data(300, 9, 3, false), test = toy_data(200, 9, 3, true, 1);
  const auto model = make_model({.name = "softmax"}, 9, 3);
  ThreadPool pool(2);
  Rows X(4, model->dim());
  for (std::uint32_t i = 0; i < 4; ++i) RngStream(5, Draw::test, i, 0).fill_normal(X.row(i));
  train.voids.assign(300, 0);
  test.voids.assign(200, 0);
  train.voids[7] = train.voids[299] = test.voids[0] = 1;
  const auto kept_train = *counted_rows(train), kept_test = *counted_rows(test);
  MetricsRow row, expected;
  Evaluator({*model, train, 4}, &test, pool).measure(X, row);
  Evaluator({*model, kept_train, 4}, &kept_test, pool).measure(X, expected);
  EXPECT_EQ(metrics_line(row), metrics_line(expected));
  EXPECT_EQ(evaluate_point(*model, test, X.row(0), false, pool).accuracy,
            evaluate_point(*model, kept_test, X.row(0), false, pool).accuracy);
  EXPECT_EQ(majority_rate(test), majority_rate(kept_test));

  train.voids.assign(300, 1);  // none is left, and that is no divergence
  Evaluator({*model, train, 4}, nullptr, pool).measure(X, row);
  EXPECT_EQ(row.loss, 0);
}

// With secret noise the accuracies on the test set are public, and how many records do not fit is
// not.
TEST(Evaluator, FiguresOfTheTestSetDoNotShowHowManyRecordsCount) {
  auto train = toy_data(4000, 9, 3, false);
  const auto test = toy_data(1000, 9, 3, false, 1);
  const auto model = make_model({.name = "mlp", .hidden = {2000}}, 9, 3);
  ThreadPool pool(2);
  Rows X(20, model->dim());
  for (std::uint32_t i = 0; i < 20; ++i) RngStream(5, Draw::test, i, 0).fill_normal(X.row(i));
  MetricsRow all, half;
  all.raw = half.raw = false;
  Evaluator({*model, train, 20}, &test, pool).measure(X, all);
  train.voids.assign(2000, 1);
  Evaluator({*model, train, 20}, &test, pool).measure(X, half);
  EXPECT_EQ(metrics_line(half), metrics_line(all));
}

}  // namespace
}  // namespace porter
