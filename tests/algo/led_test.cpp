// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "algo/led_correction.hpp"
#include "core/vector_math.hpp"
#include "toy_network.hpp"
#include "where_agents_end.hpp"

namespace porter {
namespace {

ToyNetwork dense_network(const std::string& algorithm, const std::string& mixing) {
  return {.mixing = mixing,
          .compressor = "identity",
          .algorithm = algorithm,
          .clip = "none",
          .batch = 10,
          .eta = 0.5};
}

double largest_difference(const Rows& a, const Rows& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.agents(); ++i)
    largest = std::max(largest, std::sqrt(squared_distance(a.row(i), b.row(i))));
  return largest;
}

// X <- W^T (2 X - X_prev - eta (G - G_prev)) in plain loops, from X = W^T (x0 - eta G).
TEST(Led, IsD2WhereNoEigenvalueIsNegative) {
  const auto toy = dense_network("led", "lazy").build();
  const auto& W = toy->network.mixing.weights;
  ASSERT_EQ(led_correction(W, 1), 1);
  GradientEstimator gradients({*toy->model, toy->data, 6}, toy->gradients, toy->pool);
  const std::size_t d = toy->algorithm->iterates().dim();
  Rows X = toy->algorithm->iterates(), X_prev = X, G(6, d), G_prev(6, d), half(6, d);
  for (std::uint32_t round = 1; round <= 200; ++round) {
    gradients.estimate(X, round, G);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < d; ++j)
        half.row(i)[j] = 2 * X.row(i)[j] - X_prev.row(i)[j] -
                         0.5 * (G.row(i)[j] - (round == 1 ? 0 : G_prev.row(i)[j]));
    X_prev = X;
    G_prev = G;
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        X.row(i)[j] = 0;
        for (std::size_t s = 0; s < 6; ++s) X.row(i)[j] += W(s, i) * half.row(s)[j];
      }
    toy->algorithm->step(round);
    // Messages are floats of differences that become small.
    ASSERT_LT(largest_difference(toy->algorithm->iterates(), X), 1e-6) << round;
  }
}

TEST(Led, AgentsWhoseDataDifferMeetAtTheCommonOptimum) {
  for (const auto& network : {dense_network("led", "metropolis"), dense_network("led", "fdla"),
                              dense_network("led", "lazy")}) {
    SCOPED_TRACE(network.mixing);
    const auto [gradient, apart] = where_agents_end(network, 6000);
    EXPECT_LT(gradient, 1e-6);
    EXPECT_LT(apart, 1e-6);
  }
  EXPECT_GT(where_agents_end(dense_network("dsgd", "metropolis"), 6000).second,
            1e-3);  // which has none
}

TEST(Led, TheControlVariatesHaveTheSumZero) {
  auto network = dense_network("led", "metropolis");
  network.noise_stddev = 0.3;
  network.batch = 2;
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 300; ++round) toy->algorithm->step(round);
  EXPECT_LT(*toy->algorithm->tracking_error(), 1e-11);
}

// Half of what is stable, for the lowest eigenvalue -1/3 of a ring of six.
TEST(LedCorrection, FollowsTheLowestEigenvalue) {
  const auto weights = [](const char* mixing) {
    return make_mixing(mixing, make_graph("ring", 6, 1)).weights;
  };
  EXPECT_NEAR(led_correction(weights("metropolis"), 1), 0.5, 1e-12);
  EXPECT_EQ(led_correction(weights("metropolis"), 0.4), 0.4);
  EXPECT_EQ(led_correction(weights("lazy"), 1), 1);
  EXPECT_THROW(led_correction(
                   MixingMatrix(3, std::vector<double>{0.5, 0.5, 0, 0, 0.5, 0.5, 0.5, 0, 0.5}), 1),
               Error);
}

}  // namespace
}  // namespace porter
