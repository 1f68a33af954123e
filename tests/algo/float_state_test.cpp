// SPDX-License-Identifier: Apache-2.0
// PORTER with its state in float.
#include <gtest/gtest.h>

#include <cmath>

#include "porter/core/vector_math.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

double relative_distance(std::span<const double> a, std::span<const double> b) {
  return std::sqrt(squared_distance(a, b) / squared_norm(b));
}

void run(Algorithm& algorithm, std::uint32_t rounds) {
  for (std::uint32_t round = 1; round <= rounds; ++round) algorithm.step(round);
}

// Masks do not depend on the state; top_k would magnify a last bit into another choice.
TEST(FloatState, FollowsTheDoubleOne) {
  for (const char* algorithm : {"porter-dp", "porter-gc", "beer"})
    for (const char* compressor : {"identity", "random_k:0.3"}) {
      ToyNetwork toy{.compressor = compressor,
                     .algorithm = algorithm,
                     .clip = algorithm == std::string("beer") ? "none" : "smooth:1.0",
                     .noise_stddev = 0.1};
      const auto wide = toy.build();
      toy.precision = Precision::narrow;
      const auto narrow = toy.build();
      run(*wide->algorithm, 200);
      run(*narrow->algorithm, 200);
      double worst = 0;
      const auto &a = narrow->algorithm->iterates(), &b = wide->algorithm->iterates();
      for (std::size_t i = 0; i < a.agents(); ++i)
        worst = std::max(worst, relative_distance(a.row(i), b.row(i)));
      // A rounding of 6e-8 per step, and 200 steps of about the same length.
      EXPECT_LT(worst, 1e-5) << algorithm << ' ' << compressor;
      EXPECT_GT(worst, 0) << algorithm << ' ' << compressor;  // it is float
      EXPECT_EQ(narrow->algorithm->traffic().link_bytes, wide->algorithm->traffic().link_bytes);
    }
}

TEST(FloatState, EqualBitsForAnyNumberOfThreads) {
  for (const char* compressor : {"random_k:0.1", "identity"}) {
    std::vector<Rows> results;
    for (const std::size_t threads : {1, 2, 4}) {
      const auto toy = ToyNetwork{.compressor = compressor,
                                  .rows_per_agent = 3,
                                  .features = 2 * kTileSize + 5,
                                  .threads = threads,
                                  .noise_stddev = 0.1,
                                  .precision = Precision::narrow}
                           .build();
      run(*toy->algorithm, 70);  // past a rebuilt gap
      results.push_back(toy->algorithm->iterates());
    }
    EXPECT_EQ(results[0], results[1]) << compressor;
    EXPECT_EQ(results[0], results[2]) << compressor;
  }
}

// The state of a checkpoint, which is all but messages and a copy of X when it is asked for.
TEST(FloatState, Takes28BytesPerAgentAndCoordinate) {
  const auto toy = ToyNetwork{.precision = Precision::narrow}.build();
  std::size_t bytes = 0;
  for (const auto& [name, matrix] : toy->algorithm->state())
    std::visit([&](const auto* rows) { bytes += rows->values().size_bytes(); }, matrix);
  const auto& X = toy->algorithm->iterates();
  EXPECT_EQ(bytes, 28 * X.agents() * X.dim());
}

TEST(FloatState, TheGapIsTheMatrixProductRoundedWhenItIsRebuilt) {
  const auto toy = ToyNetwork{.graph = "erdos-renyi:0.6",
                              .mixing = "fdla",
                              .compressor = "top_k:0.3",
                              .precision = Precision::narrow}
                       .build();
  run(*toy->algorithm, 5 * 64);
  for (const auto* channel : {"0", "1"}) {
    const Rows Q = toy->state(std::string("Q") + channel);
    const Rows gap = toy->state(std::string("gap") + channel);
    for (std::size_t i = 0; i < Q.agents(); ++i) {
      std::vector<double> expected(Q.dim(), 0.0);
      for (std::size_t j = 0; j < Q.agents(); ++j)
        axpy(toy->network.mixing(j, i) - (i == j), Q.row(j), expected);
      for (std::size_t k = 0; k < Q.dim(); ++k)
        EXPECT_NEAR(gap.row(i)[k], expected[k], 6e-8 * std::abs(expected[k]) + 1e-14);
    }
  }
}

// As in double (porter_test.cpp), where it is below 1e-6. Here U walks at random by its rounding,
// to about 2e-4; without rebuilt gaps it was 2.8.
TEST(FloatState, TheMeanTrackerStaysNearTheMeanGradientInAMillionRounds) {
  const auto toy = ToyNetwork{.agents = 4,
                              .compressor = "top_k:0.25",
                              .clip_target = ClipTarget::sample,
                              .rows_per_agent = 3,
                              .features = 4,
                              .batch = 1,
                              .eta = 0.01,
                              .gamma = 0.2,
                              .noise_stddev = 1,
                              .precision = Precision::narrow}
                       .build();
  double worst = 0;
  for (std::uint32_t round = 1; round <= 1'000'000; ++round) {
    if (round % 100'000 != 0) {
      toy->algorithm->step(round);
      continue;
    }
    const auto mean_G = mean_row(toy->next_gradients(round));
    toy->algorithm->step(round);
    worst = std::max(worst, relative_distance(mean_row(toy->state("V")), mean_G));
  }
  EXPECT_LT(worst, 1e-3);
  std::printf("worst relative drift %.3g\n", worst);
}

}  // namespace
}  // namespace porter
