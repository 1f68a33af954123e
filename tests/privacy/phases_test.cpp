// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/phases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {
namespace {

PrivacyEvent poisson_phase(double q, double z, std::uint64_t steps) {
  return {.sampler = Sampler::poisson,
          .adjacency = Adjacency::add_remove,
          .records = 1000,
          .rate = q,
          .noise_multiplier = z,
          .steps = steps};
}

PrivacyEvent fixed_phase(double z, std::uint64_t steps) {
  return {.records = 1000, .batch = 20, .noise_multiplier = z, .steps = steps};
}

TEST(Phases, ComeBackAsTheyWereWritten) {
  const auto phases = parse_phases("100x1,50x0.7,50x0.7x0.5");
  const std::vector<NoisePhase> expected = {{100, 1, 1}, {50, 0.7, 1}, {50, 0.7, 0.5}};
  EXPECT_EQ(phases, expected);
  EXPECT_EQ(to_string(phases), "100x1.0,50x0.7,50x0.7x0.5");
  EXPECT_EQ(parse_phases(to_string(phases)), phases);
  EXPECT_EQ(total_rounds(phases), 200U);
  for (const char* bad : {"", "100", "x1", "0x1", "10x0", "10x-1", "10x1x0", "10x1,", "10xnan",
                          "10xinf", "10x1x2x3", "10x1e9", "-1x1", "1.5x1", ",10x1"})
    EXPECT_THROW(parse_phases(bad), Error) << bad;
  std::string many = "1x1";
  for (int i = 0; i < 64; ++i) many += ",1x1";
  EXPECT_THROW(parse_phases(many), Error);
}

TEST(Phases, LikeOnesInARowAreOne) {
  const auto phases = parse_phases("10x1,5x0.7,5x0.7x0.5");
  const auto list = [&](std::uint64_t rounds) {
    std::vector<std::pair<std::uint64_t, double>> out;
    for (const auto& like : like_rounds(phases, rounds)) out.emplace_back(like.steps, like.noise);
    return out;
  };
  using List = std::vector<std::pair<std::uint64_t, double>>;
  EXPECT_EQ(list(0), (List{{0, 1.0}}));
  EXPECT_EQ(list(10), (List{{10, 1.0}}));
  EXPECT_EQ(list(11), (List{{10, 1.0}, {1, 0.7}}));
  EXPECT_EQ(list(23), (List{{10, 1.0}, {13, 0.7}}));  // the rest belongs to the last
  EXPECT_EQ(like_rounds({}, 7).front().steps, 7U);
  EXPECT_EQ(phase_of(phases, 1), 0U);
  EXPECT_EQ(phase_of(phases, 10), 0U);
  EXPECT_EQ(phase_of(phases, 11), 1U);
  EXPECT_EQ(phase_of(phases, 16), 2U);
  EXPECT_EQ(phase_of(phases, 99), 2U);
  EXPECT_EQ(phase_of({}, 99), 0U);
}

TEST(Phases, NeverCheaperMeansThatNoiseDoesNotGrow) {
  EXPECT_TRUE(never_cheaper(parse_phases("1x2,1x1,1x1x5,1x0.5")));
  EXPECT_FALSE(never_cheaper(parse_phases("1x1,1x1.1")));
  EXPECT_TRUE(never_cheaper({}));
}

TEST(NoiseScale, IsTheLeastThatKeepsTheTarget) {
  constexpr double kDelta = 1e-5;
  for (const double target : {0.5, 2.0}) {
    for (const auto& phases :
         {std::vector{fixed_phase(1.5, 300), fixed_phase(1, 200), fixed_phase(0.6, 100)},
          std::vector{poisson_phase(0.02, 1, 300), poisson_phase(0.02, 3, 300)},
          std::vector{poisson_phase(0.01, 1, 100), poisson_phase(0.05, 1, 100)}}) {
      const double scale = calibrate_noise_scale(phases, target, kDelta);
      const auto cost = [&](double factor) {
        auto scaled = phases;
        for (auto& phase : scaled) phase.noise_multiplier *= factor;
        return privacy::epsilon(scaled, kDelta).upper;
      };
      EXPECT_LE(cost(scale), target);
      EXPECT_GT(cost(scale * (1 - 1e-3)), target);
    }
  }
}

TEST(NoiseScale, OfOnePhaseIsItsNoiseMultiplier) {
  const auto event = fixed_phase(1, 500);
  const double z = calibrate_noise_multiplier(event, 1, 1e-5);
  EXPECT_EQ(calibrate_noise_scale(std::vector{event}, 1, 1e-5), z);
  auto doubled = event;
  doubled.noise_multiplier = 2;
  EXPECT_EQ(calibrate_noise_scale(std::vector{doubled}, 1, 1e-5), z / 2);
  // Two halves are the whole, up to what the search leaves.
  auto half = event;
  half.steps = 250;
  EXPECT_NEAR(calibrate_noise_scale(std::vector{half, half}, 1, 1e-5), z, 1e-3 * z);
  EXPECT_THROW(calibrate_noise_scale({}, 1, 1e-5), Error);
  half.noise_multiplier = 0;
  EXPECT_THROW(calibrate_noise_scale(std::vector{half}, 1, 1e-5), Error);
}

TEST(NoiseScale, OfFullBatchesHasAFormula) {
  PrivacyEvent full{.sampler = Sampler::full, .records = 10, .batch = 10, .noise_multiplier = 1};
  auto second = full;
  full.steps = 9;
  second.steps = 4;
  second.noise_multiplier = 0.5;
  // mu^2 adds up: 9 (2/z)^2 + 4 (4/z)^2 = 25 (2/z)^2, as 25 steps of the first kind.
  auto like = full;
  like.steps = 25;
  const double scale = calibrate_noise_scale(std::vector{full, second}, 1, 1e-5);
  EXPECT_NEAR(scale, calibrate_noise_multiplier(like, 1, 1e-5), 2e-4 * scale);
}

// The log-likelihood ratio of a step of Poisson sampling, drawn with the record in.
double drawn_loss(double q, double z, RngStream& rng) {
  std::array<double, 1> normal{};
  rng.fill_normal(normal);
  const double x = z * normal[0] + (rng.uniform() < q ? 1 : 0);
  return std::log1p(q * std::expm1((2 * x - 1) / (2 * z * z)));
}

// An independent value: the mean of (1 - exp(epsilon - loss))+ over drawn losses.
TEST(UnlikePhases, CostWhatMonteCarloSays) {
  constexpr int kRuns = 200'000;
  constexpr double kRate = 0.1, kFirst = 1.2, kSecond = 0.7, kEpsilon = 1.5;
  constexpr std::uint64_t kSteps = 6;
  const auto certified = privacy::delta(
      std::vector{poisson_phase(kRate, kFirst, kSteps), poisson_phase(kRate, kSecond, kSteps)},
      kEpsilon);
  double sum = 0, squares = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    RngStream rng(7, Draw::start, 0, run);
    double loss = 0;
    for (std::uint64_t step = 0; step < kSteps; ++step)
      loss += drawn_loss(kRate, kFirst, rng) + drawn_loss(kRate, kSecond, rng);
    const double excess = loss > kEpsilon ? -std::expm1(kEpsilon - loss) : 0;
    sum += excess;
    squares += excess * excess;
  }
  const double mean = sum / kRuns;
  const double error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  EXPECT_GT(mean, 10 * error);  // else the draw says nothing
  EXPECT_LT(mean - 5 * error, certified);
  EXPECT_GT(mean + 5 * error, certified);
}

}  // namespace
}  // namespace porter
