// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/pair_noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "porter/core/rng.hpp"
#include "says.hpp"
#include "small_matrix.hpp"

namespace porter {
namespace {

NoisePairs random_pairs(std::size_t agents, double share, std::uint32_t draw) {
  RngStream rng(17, Draw::test, 0, draw);
  NoisePairs out{.agents = agents, .pairs = {}};
  for (std::uint32_t i = 0; i < agents; ++i)
    for (std::uint32_t j = i + 1; j < agents; ++j)
      if (rng.uniform() < share) out.pairs.emplace_back(i, j);
  return out;
}

NoisePairs complete(std::size_t agents) { return random_pairs(agents, 2, 0); }

NoisePairs ring(std::uint32_t agents) {
  NoisePairs out{.agents = agents, .pairs = {}};
  for (std::uint32_t i = 0; i + 1 < agents; ++i) out.pairs.emplace_back(i, i + 1);
  out.pairs.emplace_back(0, agents - 1);
  return out;
}

// sigma_eff / s of the worst honest agent, from a dense inverse; bit i of the set: i colludes.
double worth_against(const NoisePairs& pairs, double ratio, std::uint32_t set) {
  std::vector<std::size_t> row(pairs.agents);
  std::size_t honest = 0;
  const auto colludes = [set](std::size_t i) { return (set >> i & 1U) != 0; };
  for (std::size_t i = 0; i < pairs.agents; ++i)
    if (!colludes(i)) row[i] = honest++;
  auto S = SmallMatrix::identity(honest);
  for (const auto& [i, j] : pairs.pairs)
    if (!colludes(i) && !colludes(j)) S.add_edge(row[i], row[j], ratio * ratio);
  return 1 / std::sqrt(S.inverse().largest_on_diagonal());
}

double worst_worth(const NoisePairs& pairs, double ratio, int least, int most) {
  double worst = INFINITY;
  for (std::uint32_t set = 0; set + 1 < 1U << pairs.agents; ++set)
    if (std::popcount(set) >= least && std::popcount(set) <= most)
      worst = std::min(worst, worth_against(pairs, ratio, set));
  return worst;
}

double by_degrees(double left, double ratio) {
  return std::sqrt(1 + left * ratio * ratio / (1 + ratio * ratio));
}

TEST(PairNoise, IsWorthWhatTheWorstSetOfColludersLeaves) {
  for (std::uint32_t draw = 0; draw < 30; ++draw) {
    const std::size_t agents = 2 + draw % 6;
    const auto pairs = random_pairs(agents, 0.3 + 0.1 * (draw % 7), draw);
    for (const double ratio : {0.0, 0.3, 1.0, 5.0, 300.0})
      for (int t = 0; t < static_cast<int>(agents); ++t) {
        SCOPED_TRACE(testing::Message() << "draw " << draw << " ratio " << ratio << " t " << t);
        const auto worth = pair_worth(pairs, ratio, static_cast<std::size_t>(t));
        const double truth = worst_worth(pairs, ratio, 0, t);
        EXPECT_TRUE(worth.enumerated);
        EXPECT_LE(worth.gain, truth * (1 + 1e-9));  // the reference is no better than that
        EXPECT_NEAR(worth.gain, truth, 1e-8 * truth);
        EXPECT_NEAR(worst_worth(pairs, ratio, t, t), truth,
                    1e-9 * truth);  // smaller sets help less
      }
  }
}

TEST(PairNoise, OfACompleteGraphHasAClosedForm) {
  for (const std::size_t agents : {2, 5, 30})
    for (std::size_t t = 0; t + 1 < agents && t < 3; ++t)
      for (const double ratio : {0.1, 1.0, 8.0, 1024.0}) {
        const auto k = static_cast<double>(agents - t);
        const double inverse = 1 / k + (1 - 1 / k) / (1 + k * ratio * ratio);
        const double gain = pair_worth(complete(agents), ratio, t).gain;
        EXPECT_NEAR(gain * std::sqrt(inverse), 1, 1e-8);
        EXPECT_LE(gain * std::sqrt(inverse), 1 + 1e-15);
      }
}

TEST(PairNoise, IsWorthNothingToAnAgentWhoseNeighboursAllCollude) {
  EXPECT_EQ(pair_worth(ring(8), 10, 2).gain, 1);
  EXPECT_GT(pair_worth(ring(8), 10, 1).gain, 1.9);
  EXPECT_EQ(pair_worth(complete(4), 10, 3).gain, 1);
  EXPECT_EQ(pair_worth({.agents = 3, .pairs = {{0, 1}}}, 10, 0).gain, 1);  // agent 2 is alone
}

TEST(PairNoise, IsWorthMoreWithMoreOfItAndLessWithMoreColluders) {
  for (std::uint32_t draw = 0; draw < 10; ++draw) {
    const auto pairs = random_pairs(9, 0.6, 100 + draw);
    double last = 1, before_last = 1;
    for (int step = 0; step < 40; ++step) {  // x = step / 4
      const double gain = pair_worth(pairs, std::sqrt(step / 4.0), 1).gain, square = gain * gain;
      EXPECT_GE(square, last - 1e-9);
      EXPECT_LE(square, 8 + 1e-9);  // as many as there are honest agents
      if (step > 1) {
        EXPECT_LE(square - last, last - before_last + 1e-9);  // concave in x
      }
      before_last = std::exchange(last, square);
    }
    for (std::size_t t = 0; t + 1 < 9; ++t)
      EXPECT_GE(pair_worth(pairs, 2, t).gain, pair_worth(pairs, 2, t + 1).gain - 1e-9);
  }
}

TEST(PairNoise, IsBoundedByDegreesWhereTheSetsAreTooMany) {
  const auto large = ring(2000);
  const auto worth = pair_worth(large, 3, 1);
  EXPECT_FALSE(worth.enumerated);
  EXPECT_NEAR(worth.gain, by_degrees(1, 3), 1e-12);
  EXPECT_EQ(pair_worth(large, 3, 2).gain, 1);
  EXPECT_EQ(pair_worth(large, 3, 1000).gain, 1);
  for (std::uint32_t draw = 0; draw < 20; ++draw) {  // never above what enumeration finds
    const auto pairs = random_pairs(8, 0.7, 200 + draw);
    std::vector<std::size_t> degrees(8, 0);
    for (const auto& [i, j] : pairs.pairs) ++degrees[i], ++degrees[j];
    const auto least = std::ranges::min(degrees);
    for (const double ratio : {0.2, 1.0, 20.0})
      for (std::size_t t = 0; t < 8; ++t)
        EXPECT_LE(by_degrees(least > t ? static_cast<double>(least - t) : 0, ratio),
                  worst_worth(pairs, ratio, static_cast<int>(t), static_cast<int>(t)) * (1 + 1e-9));
  }
}

TEST(PairNoise, TheBestRatioIsThatOfLeastCostOnTheLadder) {
  for (std::uint32_t draw = 0; draw < 20; ++draw) {
    const auto pairs = random_pairs(8, 0.7, 300 + draw);
    for (const std::size_t t : {0, 1, 2})
      for (const double shared : {0.0, 0.003, 0.1, 1.0, 50.0}) {
        double least = 1, best = 0;
        for (int step = -16; step <= 24; ++step) {
          const double ratio = std::exp2(step / 4.0), gain = pair_worth(pairs, ratio, t).gain;
          const double cost = (1 + shared * ratio * ratio) / (gain * gain);
          if (cost < least) least = cost, best = ratio;
        }
        EXPECT_NEAR(best_pair_ratio(pairs, t, {.own = 1, .shared = shared}), best, 1e-12 * best);
      }
  }
  EXPECT_EQ(best_pair_ratio(ring(8), 2, {.own = 1, .shared = 0.1}), 0);
  EXPECT_EQ(best_pair_ratio(complete(8), 0, {.own = 1, .shared = 0}), 64);
}

TEST(PairNoise, RefusesWhatIsNoRatioNoPairAndTooManyColluders) {
  const auto refusal = [](NoisePairs pairs, double ratio, std::size_t colluders) {
    return what_fails([&] { pair_worth(pairs, ratio, colluders); });
  };
  EXPECT_TRUE(says(refusal(complete(3), -1, 0), "from 0 to 1024, found -1"));
  EXPECT_TRUE(says(refusal(complete(3), NAN, 0), "from 0 to 1024, found"));
  EXPECT_TRUE(says(refusal(complete(3), 1, 3), "fewer colluders than the 3 agents, found 3"));
  EXPECT_TRUE(says(refusal({.agents = 3, .pairs = {{2, 1}}}, 1, 0), "found 2 and 1"));
}

}  // namespace
}  // namespace porter
