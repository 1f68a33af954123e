// SPDX-License-Identifier: Apache-2.0
#include "porter/run/evaluator.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace porter
