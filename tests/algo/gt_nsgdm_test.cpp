// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

ToyNetwork dense_tracking(const std::string& algorithm) {
  return {.compressor = "identity", .algorithm = algorithm, .clip = "none", .momentum = 0.2};
}

double distance_between(std::span<const double> a, std::span<const double> b) {
  return std::sqrt(squared_distance(a, b));
}

TEST(GtNsgdm, TheMeanTrackerIsTheMeanOfWhatMomentumHasCalmed) {
  const auto toy = dense_tracking("gt-nsgdm").build();
  for (std::uint32_t round = 1; round <= 300; ++round) {
    toy->algorithm->step(round);
    ASSERT_LT(*toy->algorithm->tracking_error(), 1e-13) << round;
  }
}

// How far the average of the agents gets in a round, at most, when one record is a million times as
// long as the others and of the wrong class.
double longest_step(const std::string& algorithm) {
  const auto toy = dense_tracking(algorithm).build();
  for (std::size_t j = 0; j < toy->data.features; ++j) toy->data.values[j] *= 1e6F;
  toy->data.labels[0] = 1 - toy->data.labels[0];
  double longest = 0;
  auto before = mean_row(toy->algorithm->iterates());
  for (std::uint32_t round = 1; round <= 100; ++round) {
    toy->algorithm->step(round);
    auto after = mean_row(toy->algorithm->iterates());
    longest = std::max(longest, distance_between(before, after));
    before = std::move(after);
  }
  return longest;
}

TEST(GtNsgdm, AnOutlierTakesNobodyFurtherThanEta) {
  EXPECT_LT(longest_step("gt-nsgdm"), 0.1 * (1 + 1e-6));  // eta of the toy
  EXPECT_GT(longest_step("dsgt"), 1000);
}

// Steps of one length cannot rest, so the agents stay within a few of them.
TEST(GtNsgdm, AgentsWhoseDataDifferStayNearTheCommonOptimum) {
  auto network = dense_tracking("gt-nsgdm");
  network.batch = 10;  // all of an agent's
  network.eta = 0.001;
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 8000; ++round) toy->algorithm->step(round);
  const auto& X = toy->algorithm->iterates();
  const auto mean = mean_row(X);
  std::vector<double> gradient(mean.size(), 0.0);
  toy->model->evaluate(mean, toy->data, 0, toy->data.rows(), gradient);
  EXPECT_LT(std::sqrt(squared_norm(gradient)) / static_cast<double>(toy->data.rows()), 0.002);
  for (std::size_t i = 0; i < X.agents(); ++i) EXPECT_LT(distance_between(X.row(i), mean), 0.005);
}

TEST(GtNsgdm, ATrackerOfZeroMovesNobody) {
  const auto toy = dense_tracking("gt-nsgdm").build();
  toy->data.weights.assign(toy->data.rows(), 0.0F);
  const Rows start = toy->algorithm->iterates();
  for (std::uint32_t round = 1; round <= 3; ++round) toy->algorithm->step(round);
  EXPECT_EQ(toy->algorithm->iterates(), start);
}

}  // namespace
}  // namespace porter
