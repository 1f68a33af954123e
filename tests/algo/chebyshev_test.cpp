// SPDX-License-Identifier: Apache-2.0
#include "algo/chebyshev.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "toy_network.hpp"
#include "where_agents_end.hpp"

namespace porter {
namespace {

// T_s by what it is called after.
double chebyshev(std::uint32_t s, double y) {
  if (std::abs(y) <= 1) return std::cos(s * std::acos(y));
  return (y < 0 && s % 2 == 1 ? -1 : 1) * std::cosh(s * std::acosh(std::abs(y)));
}

// What the steps make of an eigenvector of W with the value w.
double apply(const ChebyshevSteps& chebyshev, double w) {
  double x = 1, moved = 0;
  for (const auto& [momentum, gain] : chebyshev.steps) {
    moved = momentum * moved + gain * (w - 1) * x;
    x += moved;
  }
  return x;
}

TEST(Chebyshev, TheStepsAreThePolynomial) {
  for (const auto& ends : {std::pair(-0.3, 0.99), {-0.9, 0.9}, {0.2, 0.5}, {-0.001, 0.0}})
    for (const std::uint32_t s : {1U, 2U, 3U, 8U, 40U}) {
      const double low = ends.first, high = ends.second;
      SCOPED_TRACE(concat(low, " ", high, " ", s));
      const auto steps = chebyshev_steps(low, high, s);
      const auto y = [&](double w) { return (2 * w - low - high) / (high - low); };
      const double at_one = chebyshev(s, y(1));
      EXPECT_NEAR(steps.rate * at_one, 1, 1e-9);
      EXPECT_EQ(apply(steps, 1), 1);  // sums stay
      for (double w = low; w <= high; w += (high - low) / 64) {
        EXPECT_NEAR(apply(steps, w), chebyshev(s, y(w)) / at_one, 1e-12);
        EXPECT_LE(std::abs(apply(steps, w)), steps.rate + 1e-12);
      }
    }
}

TEST(Chebyshev, OneStepIsTheBestConstantWeightOfTheSpectrum) {
  const auto steps = chebyshev_steps(-0.5, 0.9, 1);
  EXPECT_NEAR(apply(steps, -0.5), -steps.rate, 1e-15);
  EXPECT_NEAR(apply(steps, 0.9), steps.rate, 1e-15);
}

ToyNetwork ring(const std::string& algorithm, Acceleration acceleration, std::size_t agents,
                std::uint32_t gossip) {
  return {.agents = agents,
          .compressor = "random_k:k=7",  // all of them
          .algorithm = algorithm,
          .clip_target = ClipTarget::sample,
          .eta = 1e-300,
          .gossip = gossip,
          .mask = Mask::sweep,
          .acceleration = acceleration};
}

// By how much one round shrinks the distance to the mean that mixes worst: a wave around the ring.
double shrinks(const ToyNetwork& network) {
  const auto toy = network.build();
  Rows* X = nullptr;
  for (const auto& [name, rows, copied] : toy->algorithm->state())
    if (name == "X") X = std::get<Rows*>(rows);
  const auto n = static_cast<double>(network.agents);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < X->agents(); ++i)
    for (auto& x : X->row(i)) {
      x = std::cos(2 * 3.141592653589793 * static_cast<double>(i) / n);
      before += x * x;
    }
  toy->algorithm->step(1);
  for (std::size_t i = 0; i < X->agents(); ++i)
    for (const auto x : X->row(i)) after += x * x;
  EXPECT_LT(std::sqrt(squared_norm(mean_row(*X))), 1e-7);  // messages are floats
  return std::sqrt(after / before);
}

// The figures of docs/algorithms.md.
TEST(Chebyshev, ARingOfThirtyMixesAsTheFormulaSays) {
  const double alpha = make_mixing("metropolis", make_graph("ring", 30, 1)).alpha;
  for (const char* algorithm : {"porter-sweep", "sweep-led"})
    for (const std::uint32_t s : {1U, 2U, 4U, 8U, 16U}) {
      SCOPED_TRACE(concat(algorithm, " ", s));
      const auto steps = chebyshev_steps(make_mixing("metropolis", make_graph("ring", 30, 1)), s);
      const double found = shrinks(ring(algorithm, Acceleration::chebyshev, 30, s));
      EXPECT_NEAR(found, apply(steps, alpha), 1e-6);
      EXPECT_LE(found, steps.rate + 1e-6);
      const double plain = shrinks(ring(algorithm, Acceleration::none, 30, s));
      EXPECT_NEAR(plain, std::pow(alpha, s), 1e-6);
      EXPECT_LT(found, plain);
      RecordProperty(concat("s", s), concat(found, " ", plain));
    }
}

TEST(Chebyshev, AgentsWhoseDataDifferMeetAtTheCommonOptimum) {
  for (const char* algorithm : {"porter-sweep", "sweep-led"})
    for (const char* graph : {"ring", "star", "complete"}) {
      SCOPED_TRACE(concat(algorithm, " ", graph));
      auto network = ring(algorithm, Acceleration::chebyshev, 6, 3);
      network.graph = graph;
      network.compressor = "random_k:k=3";
      network.clip = "none";
      network.batch = 10;
      network.eta = 0.3;
      const auto [gradient, apart] = where_agents_end(network, 4000);
      EXPECT_LT(gradient, 1e-6);
      EXPECT_LT(apart, 1e-6);
    }
}

}  // namespace
}  // namespace porter
