// SPDX-License-Identifier: Apache-2.0
// Noise that neighbours share.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "attacks.hpp"
#include "core/normal_noise.hpp"
#include "small_matrix.hpp"

namespace porter {
namespace {

// Against whom shared noise protects least, and what the best test weighs the releases with: the
// victim's row of S^-1, S the covariance of the agents' noise without the colluder's pairs.
struct Eavesdropper {
  std::size_t victim = 0, colluder = 0;
  std::vector<double> weights = {};
};

Eavesdropper worst_eavesdropper(const NoisePairs& pairs, double own, double shared) {
  Eavesdropper worst;
  double largest = 0;
  for (std::size_t colluder = 0; colluder < pairs.agents; ++colluder) {
    SmallMatrix S(pairs.agents, pairs.agents);
    for (std::size_t i = 0; i < pairs.agents; ++i) S(i, i) = own * own;
    for (const auto& [i, j] : pairs.pairs)
      if (i != colluder && j != colluder) S.add_edge(i, j, shared * shared);
    const auto inverse = S.inverse();
    for (std::size_t i = 0; i < pairs.agents; ++i) {
      if (i == colluder || inverse(i, i) <= largest) continue;
      largest = inverse(i, i);
      worst = {.victim = i, .colluder = colluder};
      for (std::size_t j = 0; j < pairs.agents; ++j) worst.weights.push_back(inverse(i, j));
    }
  }
  return worst;
}

// It reads all releases, knows all data but the victim's canary, and has the noise of the
// colluder's pairs from the colluder. What it finds is the victim's release as one with noise of
// its own, of the deviation that is promised; `known` is what each of the others has before its
// noise.
Scores eavesdrop(Worst& worst, const Eavesdropper& by, std::size_t runs,
                 const std::array<double, 2>& known) {
  const auto& privacy = *worst.parts[0].privacy;
  const auto& pairs = privacy.pairs()->pairs;
  const double shared = privacy.pair_sigma();
  const auto one = promised(worst.parts[0].sampler(), privacy.sigma(), 1,
                            worst.parts[0].config.privacy->adjacency);
  const auto agents = worst.X.agents();
  const auto rounds = worst.rounds();
  Scores scores;
  for (const bool with : {false, true}) {
    auto options = worst.setups[with].gradients;
    options.seed = with ? 1 : 2;
    GradientEstimator estimator(worst.setups[with].problem, options, worst.pool);
    Rows G(agents, 1);
    for (std::uint32_t run = 0; run < runs; ++run) {
      double score = 0;
      for (std::uint32_t round = run * rounds + 1; round <= (run + 1) * rounds; ++round) {
        estimator.estimate(worst.X, round, G);
        for (std::uint32_t pair = 0; pair < pairs.size(); ++pair) {
          const auto& [lower, higher] = pairs[pair];
          if (lower != by.colluder && higher != by.colluder) continue;
          std::array<float, 1> told;
          NormalNoise(options.seed, pair, round, Draw::pair).fill(0, told);
          G.row(lower)[0] -= shared * double{told[0]};
          G.row(higher)[0] += shared * double{told[0]};
        }
        double found = 0;
        for (std::size_t i = 0; i < agents; ++i)
          found += by.weights[i] * (G.row(i)[0] - (i == by.victim ? 0 : known[with]));
        score += one.score(found / by.weights[by.victim]);
      }
      scores.of[with].push_back(score);
    }
  }
  return scores;
}

Eavesdropper worst_eavesdropper(const Worst& worst) {
  const auto& privacy = *worst.parts[0].privacy;
  auto by = worst_eavesdropper(*privacy.pairs(), privacy.own_sigma(), privacy.pair_sigma());
  EXPECT_NEAR(std::sqrt(by.weights[by.victim]) * privacy.sigma(), 1, 1e-8);
  EXPECT_GT(privacy.sigma(), 1.2 * privacy.own_sigma());
  return by;
}

constexpr std::size_t kFew = 6;

TEST(AttackOnSharedNoise, OfAnEavesdropperWithAColluderComesNearTheEpsilon) {
  for (const std::uint32_t rounds : {1U, 2U}) {
    Worst worst(kFew, kRecords,
                {"privacy.shape=optimal", "privacy.colluders=1", "privacy.epsilon=2.5",
                 "network.graph=erdos-renyi:0.8", "algorithm.gossip=3",
                 concat("algorithm.rounds=", rounds)});
    ASSERT_TRUE(worst.parts[0].privacy->pairs());
    expect_tight(eavesdrop(worst, worst_eavesdropper(worst), 60'000, {-kUnit, kUnit}),
                 worst.certified());
  }
}

// All records but the canary are -tau, so that the others' batches do not matter, and the victim's
// only by whether the canary is in it.
TEST(AttackOnSharedNoise, OfAnEavesdropperOnBatchesThatAreDrawnComesNearTheEpsilon) {
  for (const std::uint32_t rounds : {1U, 2U}) {
    const Keys keys = {"privacy.shape=pairwise", "privacy.colluders=1",
                       "privacy.epsilon=2.5",    "network.graph=erdos-renyi:0.8",
                       "algorithm.batch=3",      concat("algorithm.rounds=", rounds)};
    const auto by = worst_eavesdropper(Worst(kFew, kRecords, keys));
    Worst worst(kFew, kRecords, keys, {.others = -kFar, .victim = by.victim});
    EXPECT_EQ(worst.parts[0].sampler().kind(), Sampler::fixed);
    expect_tight(eavesdrop(worst, by, 60'000, {-1, -1}), worst.certified());
  }
}

// Poisson batches: all records but the canary are 0, as in the accountant's pairs.
TEST(AttackOnSharedNoise, OfAnEavesdropperOnPoissonBatchesComesNearTheEpsilon) {
  for (const char* adjacency : {"replace", "add-remove"})
    for (const std::uint32_t rounds : {1U, 2U}) {
      const Keys keys = {"privacy.shape=pairwise",
                         "privacy.colluders=1",
                         "privacy.epsilon=2.5",
                         "privacy.sampler=poisson",
                         concat("privacy.adjacency=", adjacency),
                         "network.graph=erdos-renyi:0.8",
                         "algorithm.batch=3",
                         concat("algorithm.rounds=", rounds)};
      const auto by = worst_eavesdropper(Worst(kFew, kRecords, keys));
      Worst worst(kFew, kRecords, keys, {.victim = by.victim});
      EXPECT_EQ(worst.parts[0].sampler().kind(), Sampler::poisson);
      expect_tight(eavesdrop(worst, by, long_runs(60'000), {0, 0}), worst.certified());
    }
}

}  // namespace
}  // namespace porter
