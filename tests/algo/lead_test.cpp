// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "toy_network.hpp"
#include "where_agents_end.hpp"

namespace porter {
namespace {

ToyNetwork leading(const std::string& compressor) {
  return {.compressor = compressor,
          .algorithm = "lead",
          .clip = "none",
          .batch = 10,  // all of an agent's
          .eta = 0.5,
          .gamma = 1};
}

TEST(Lead, AgentsWhoseDataDifferMeetAtTheCommonOptimum) {
  for (const char* compressor :
       {"identity", "natural", "qsgd:4", "random_k:0.6", "random_k:0.3", "bernoulli:0.6"}) {
    SCOPED_TRACE(compressor);
    const auto [gradient, apart] = where_agents_end(leading(compressor), 8000);
    EXPECT_LT(gradient, 1e-6);
    EXPECT_LT(apart, 1e-6);
  }
  auto choco = leading("random_k:0.6");
  choco.algorithm = "choco-sgd";
  choco.gamma = 0.3;
  EXPECT_GT(where_agents_end(choco, 8000).second, 1e-3);  // which is biased
}

// With nothing compressed, alpha = 1 and gamma = 1, X <- (I + W)^T / 2 (2 X - X_prev - eta (G -
// G_prev)): exact diffusion, which led is on weights that are half as far from I.
TEST(Lead, IsLedOnLazyWeightsWhereNothingIsCompressed) {
  auto led = leading("identity");
  led.algorithm = "led";
  led.mixing = "lazy";
  const auto one = leading("identity").build(), other = led.build();
  for (std::uint32_t round = 1; round <= 200; ++round) {
    one->algorithm->step(round);
    other->algorithm->step(round);
    const auto &X = one->algorithm->iterates(), &Y = other->algorithm->iterates();
    for (std::size_t i = 0; i < X.agents(); ++i)  // messages are floats
      ASSERT_LT(squared_distance(X.row(i), Y.row(i)), 1e-11) << round;
  }
}

// One entry of forty: omega is 39.
TEST(Lead, IsStableWithSparseAndNoisyMessages) {
  for (const char* compressor : {"random_k:k=1", "random_k:0.1", "random_k:0.5", "qsgd:2"})
    for (const double gamma : {0.1, 1.0}) {
      SCOPED_TRACE(testing::Message() << compressor << ' ' << gamma);
      auto network = leading(compressor);
      network.features = 40;
      network.eta = 0.1;
      network.gamma = gamma;
      network.noise_stddev = 0.2;
      EXPECT_LT(where_agents_end(network, 5000).second, 10);
    }
}

TEST(Lead, TheCorrectionsHaveTheSumZero) {
  auto network = leading("random_k:0.3");
  network.noise_stddev = 0.3;
  network.batch = 2;
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 300; ++round) toy->algorithm->step(round);
  EXPECT_LT(*toy->algorithm->tracking_error(), 1e-11);
  EXPECT_GT(squared_norm(toy->state("D").row(0)), 1e-3);
}

TEST(Lead, RefusesMessagesThatAreNotUnbiased) {
  const auto refused = [](const ToyNetwork& network, const char* key) {
    try {
      network.build();
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
    }
  };
  refused(leading("top_k:0.3"), "top_k");
  auto sweeping = leading("random_k:0.3");
  sweeping.mask = Mask::sweep;
  refused(sweeping, "algorithm.mask");
}

}  // namespace
}  // namespace porter
