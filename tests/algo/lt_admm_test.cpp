// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "toy_network.hpp"
#include "where_agents_end.hpp"

namespace porter {
namespace {

ToyNetwork local_training(std::uint32_t steps, const std::string& mixing = "metropolis") {
  return {.mixing = mixing,
          .compressor = "identity",
          .algorithm = "lt-admm",
          .clip = "none",
          .batch = 10,
          .eta = 0.5,
          .gamma = 1,
          .local_steps = steps};
}

// Local steps do not drift, as what an agent has learned of the others is in each of them.
TEST(LtAdmm, AgentsWhoseDataDifferMeetAtTheCommonOptimum) {
  for (const auto& network : {local_training(1), local_training(4), local_training(4, "fdla"),
                              local_training(7, "lazy")}) {
    SCOPED_TRACE(network.mixing + " " + std::to_string(network.local_steps));
    const auto [gradient, apart] = where_agents_end(network, 6000);
    EXPECT_LT(gradient, 1e-6);
    EXPECT_LT(apart, 1e-6);
  }
}

// The pairs of the paper, z_ij and z_ji on every edge, in plain loops.
TEST(LtAdmm, IsThePapersMethodOfEdges) {
  auto network = local_training(3);
  network.graph = "star";
  network.gamma = 0.8;
  network.noise_stddev = 0.1;
  network.batch = 2;
  const auto toy = network.build();
  const auto& W = toy->network.mixing.weights;
  constexpr std::size_t kAgents = 6;
  constexpr double kRho = 0.3, kBeta = 0.8 / (3 * kRho);
  Rows X = toy->algorithm->iterates(), at_meeting = X, G(kAgents, X.dim());
  std::vector<Rows> z(kAgents, Rows(kAgents, X.dim()));
  for (std::size_t i = 0; i < kAgents; ++i)
    for (std::size_t j = 0; j < kAgents; ++j)
      for (std::size_t k = 0; k < X.dim(); ++k) z[i].row(j)[k] = kRho * W(i, j) * X.row(j)[k];
  GradientEstimator gradients({*toy->model, toy->data, kAgents}, toy->gradients, toy->pool);
  for (std::uint32_t round = 1; round <= 120; ++round) {
    gradients.estimate(X, round, G);
    for (std::size_t i = 0; i < kAgents; ++i)
      for (std::size_t k = 0; k < X.dim(); ++k) {
        double pull = 0;
        for (std::size_t j = 0; j < kAgents; ++j)
          if (j != i) pull += kRho * W(i, j) * at_meeting.row(i)[k] - z[i].row(j)[k];
        X.row(i)[k] -= 0.5 * G.row(i)[k] + kBeta * pull;
      }
    if (round % 3 == 0) {
      const auto before = z;
      for (std::size_t i = 0; i < kAgents; ++i)
        for (std::size_t j = 0; j < kAgents; ++j)
          for (std::size_t k = 0; k < X.dim(); ++k)
            z[i].row(j)[k] =
                (before[i].row(j)[k] - before[j].row(i)[k]) / 2 + kRho * W(i, j) * X.row(j)[k];
      at_meeting = X;
    }
    toy->algorithm->step(round);
    for (std::size_t i = 0; i < kAgents; ++i)  // messages are floats
      ASSERT_LT(squared_distance(toy->algorithm->iterates().row(i), X.row(i)), 1e-10) << round;
  }
}

TEST(LtAdmm, WhatMessagesTeachHasTheSumZero) {
  auto network = local_training(3);
  network.noise_stddev = 0.3;
  network.batch = 2;
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 300; ++round) toy->algorithm->step(round);
  EXPECT_LT(*toy->algorithm->tracking_error(), 1e-11);
}

// 20 rounds of 7 floats and a checksum every 4: bytes, and the seconds of their latency.
TEST(LtAdmm, SendsOnceForSeveralGradients) {
  auto network = local_training(4);
  network.pace = Pace{.latency = 10, .compute = 1};
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 20; ++round) toy->algorithm->step(round);
  EXPECT_EQ(toy->algorithm->traffic().message_bytes, 6 * 5 * (7 * 4 + 4));
  EXPECT_EQ(toy->algorithm->traffic().seconds, 20 * 1 + 5 * 10);
}

TEST(LtAdmm, RefusesWeightsThatDifferBothWays) {
  const auto toy = local_training(2).build();
  Network one_way = toy->network;
  one_way.mixing.weights = MixingMatrix(6, [] {
    std::vector<double> W(36);
    for (std::size_t i = 0; i < 6; ++i) W[i * 6 + i] = W[i * 6 + (i + 1) % 6] = 0.5;
    return W;
  }());
  EXPECT_THROW(make_algorithm("lt-admm", {.problem = {*toy->model, toy->data, 6},
                                          .network = &one_way,
                                          .compressor = *toy->compressor,
                                          .pool = toy->pool,
                                          .start = std::vector<double>(7),
                                          .gradients = toy->gradients}),
               Error);
}

}  // namespace
}  // namespace porter
