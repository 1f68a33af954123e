// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

// Clipped far below the gradients of the agents, which differ.
ToyNetwork clipping_server(const std::string& algorithm) {
  return {.compressor = "identity",
          .algorithm = algorithm,
          .clip = "linear:0.02",
          .clip_target = ClipTarget::batch,
          .batch = 10,  // all of an agent's
          .eta = 0.5};
}

// |the mean gradient| where the server is after so many rounds.
double gradient_after(const ToyNetwork& network, std::uint32_t rounds) {
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= rounds; ++round) toy->algorithm->step(round);
  const auto x = toy->algorithm->iterates().row(0);
  std::vector<double> gradient(x.size(), 0.0);
  toy->model->evaluate(x, toy->data, 0, toy->data.rows(), gradient);
  return std::sqrt(squared_norm(gradient)) / static_cast<double>(toy->data.rows());
}

TEST(Clip21Sgd2m, ClippingDoesNotBias) {
  for (const double momentum : {1.0, 0.3}) {
    auto network = clipping_server("clip21-sgd2m");
    network.momentum = momentum;
    EXPECT_LT(gradient_after(network, 6000), 1e-6) << momentum;  // x travels in float
  }
  EXPECT_GT(gradient_after(clipping_server("ldp-sgd"), 6000), 1e-3);  // which clips gradients
}

TEST(Clip21Sgd2m, TheServerKnowsTheMeanOfWhatItsClientsHold) {
  auto network = clipping_server("clip21-sgd2m");
  network.batch = 2;
  network.momentum = 0.2;
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 300; ++round) toy->algorithm->step(round);
  const auto mean = mean_row(toy->state("S"));
  EXPECT_LT(squared_distance(mean, toy->state("s_mean").row(0)), 1e-24);
  EXPECT_GT(squared_norm(mean), 1e-6);
}

TEST(Clip21Sgd2m, AMessageIsNoLongerThanTheThreshold) {
  auto network = clipping_server("clip21-sgd2m");
  network.batch = 1;
  const auto toy = network.build();
  Rows before = toy->state("S");
  for (std::uint32_t round = 1; round <= 100; ++round) {
    toy->algorithm->step(round);
    const auto after = toy->state("S");  // which moves by all of the message
    for (std::size_t i = 0; i < after.agents(); ++i)
      EXPECT_LE(squared_distance(before.row(i), after.row(i)), 0.02 * 0.02 * (1 + 1e-6)) << round;
    before = after;
  }
}

TEST(Clip21Sgd2m, RefusesASecondMomentumThatIsNoShare) {
  const auto toy = clipping_server("clip21-sgd2m").build();
  for (const double shift : {0.0, 1.5, std::nan("")}) {
    const AlgorithmSetup setup{.problem = {*toy->model, toy->data, 6},
                               .compressor = *toy->compressor,
                               .pool = toy->pool,
                               .start = std::vector<double>(toy->model->dim()),
                               .gradients = toy->gradients,
                               .soteriafl = {.shift = shift}};
    try {
      make_algorithm("clip21-sgd2m", setup);
      ADD_FAILURE() << shift;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("algorithm.shift"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace porter
