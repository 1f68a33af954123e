// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

const Rows& state_named(Algorithm& algorithm, const std::string& wanted) {
  for (const auto& [name, rows, copied] : algorithm.state())
    if (name == wanted) return *std::get<Rows*>(rows);
  throw std::out_of_range(wanted);
}

// Every agent's own data pull it elsewhere; what holds it at the common point is H.
void expect_rest(const ToyNetwork& network, double tolerance) {
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 6000; ++round) toy->algorithm->step(round);
  const auto& X = toy->algorithm->iterates();
  const auto mean = mean_row(X);
  Rows G(X.agents(), X.dim());
  GradientEstimator({*toy->model, toy->data, X.agents()}, toy->gradients, toy->pool)
      .estimate(X, 1, G);
  EXPECT_LT(std::sqrt(squared_norm(mean_row(G))), tolerance);
  const auto& H = state_named(*toy->algorithm, "H");
  double largest = 0;
  for (std::size_t i = 0; i < X.agents(); ++i) {
    EXPECT_LT(std::sqrt(squared_distance(X.row(i), mean)), tolerance) << i;
    EXPECT_LT(std::sqrt(squared_distance(H.row(i), G.row(i))), tolerance / network.eta) << i;
    largest = std::max(largest, std::sqrt(squared_norm(G.row(i))));
  }
  EXPECT_GT(largest, 0.05);  // else there was nothing to correct
}

// Messages are floats, so points of size 1 agree to about 1e-7.
TEST(SweepLed, AtRestTheControlVariatesAreTheAgentsOwnGradients) {
  for (const char* mixing : {"metropolis", "fdla"})  // with fdla the lowest eigenvalue is -alpha
    for (const char* graph : {"ring", "erdos-renyi:0.6", "star"})
      for (const std::uint32_t gossip : {1U, 3U, 9U}) {
        SCOPED_TRACE(concat(graph, " ", mixing, " ", gossip));
        expect_rest({.graph = graph,
                     .mixing = mixing,
                     .compressor = "random_k:0.3",
                     .algorithm = "sweep-led",
                     .clip_target = ClipTarget::sample,
                     .batch = 10,
                     .eta = 1.0,
                     .gossip = gossip},
                    1e-6);
      }
}

TEST(SweepLed, RefusesWeightsThatDifferByDirection) {
  const auto toy = ToyNetwork{}.build();
  auto one_way = toy->network;
  std::vector<double> W(36, 0.0);
  for (std::size_t i = 0; i < 6; ++i) {
    W[6 * i + i] = 0.75;
    W[6 * i + (i + 1) % 6] = 0.25;
  }
  one_way.mixing.weights = MixingMatrix(6, W);
  const auto compressor = make_compressor("random_k:0.3");
  try {
    make_algorithm("sweep-led", {.problem = {*toy->model, toy->data, 6},
                                 .network = &one_way,
                                 .compressor = *compressor,
                                 .pool = toy->pool,
                                 .start = std::vector<double>(toy->model->dim()),
                                 .gradients = toy->gradients});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("network.mixing"), std::string::npos) << error.what();
  }
}

TEST(SweepLed, SendsHalfOfWhatPorterSweepSends) {
  const auto bytes = [](const char* algorithm) {
    const auto toy =
        ToyNetwork{
            .compressor = "random_k:k=3", .algorithm = algorithm, .clip_target = ClipTarget::sample}
            .build();
    for (std::uint32_t round = 1; round <= 30; ++round) toy->algorithm->step(round);
    return toy->algorithm->traffic().message_bytes;
  };
  EXPECT_EQ(2 * bytes("sweep-led"), bytes("porter-sweep"));
}

}  // namespace
}  // namespace porter
