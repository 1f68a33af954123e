// SPDX-License-Identifier: Apache-2.0
// Noise that neighbours share, as the estimator adds it: what it sums to, and what an attack on the
// noised gradients of all agents together finds.
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "porter/algo/gradients.hpp"
#include "privacy/secure_noise.hpp"
#include "says.hpp"
#include "small_matrix.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

constexpr std::size_t kAgents = 5, kDim = 70;  // two groups of simulated normals

// Gradients of a model whose gradient is zero, so that what comes out is noise.
class Nothing final : public Model {
 public:
  std::size_t dim() const override { return kDim; }
  double loss(std::span<const double>, const Sample&, std::span<double> g) const override {
    std::ranges::fill(g, 0.0);
    return 0;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }
};

// Not bipartite: a wheel without one rim.
std::shared_ptr<const NoisePairs> some_pairs() {
  return std::make_shared<const NoisePairs>(
      NoisePairs{.agents = kAgents, .pairs = {{0, 1}, {0, 2}, {0, 4}, {1, 2}, {2, 3}, {3, 4}}});
}

struct Estimates {
  Dataset data = toy_data(20, 3, 2, false);
  Nothing model;
  ThreadPool pool{1};
  GradientEstimator estimator;

  explicit Estimates(const GradientOptions& options)
      : estimator({model, data, kAgents}, options, pool) {}
  Rows noise(std::uint32_t round) {
    Rows G(kAgents, kDim);
    estimator.estimate(Rows(kAgents, kDim), round, G);
    return G;
  }
};

GradientOptions simulated(double own, double shared) {
  return {.sampler = {Sampler::fixed, 4, 4},
          .clip = parse_clip("smooth:1"),
          .noise_stddev = own,
          .pairs = some_pairs(),
          .pair_stddev = shared,
          .seed = 3};
}

GradientOptions secret(double own, double shared) {
  auto options = simulated(own, shared);
  options.secure = std::make_shared<const SecureNoise>(
      own, 0.5, kDim, SecureNoise::Shared{.stddev = shared, .most_pairs = 3, .vectors = 11});
  return options;
}

SmallMatrix covariance(double own, double shared) {
  const auto all = some_pairs();
  SmallMatrix S(kAgents, kAgents);
  for (std::size_t i = 0; i < kAgents; ++i) S(i, i) = own * own;
  for (const auto& [i, j] : all->pairs) S.add_edge(i, j, shared * shared);
  return S;
}

TEST(SharedNoise, OfAPairIsTheSameBitsWithOppositeSigns) {
  auto options = simulated(1, 3);
  const std::uint32_t pair[] = {1, 4};
  options.pairs =
      std::make_shared<const NoisePairs>(NoisePairs{.agents = kAgents, .pairs = {{1, 4}}});
  options.noise_stddev = 0x1p-1000;  // vanishes beside what is shared, but is not zero
  const auto G = Estimates(options).noise(2);
  for (std::size_t j = 0; j < kDim; ++j) {
    EXPECT_EQ(G.row(pair[0])[j], -G.row(pair[1])[j]);
    EXPECT_NE(G.row(pair[0])[j], 0);
  }
}

TEST(SharedNoise, CancelsInTheSumOverAgents) {
  for (const auto& options : {simulated(0.25, 2), secret(0.25, 2)}) {
    double square = 0;
    Estimates all(options);
    constexpr std::uint32_t kRounds = 400;
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const auto G = all.noise(round);
      for (std::size_t j = 0; j < kDim; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < kAgents; ++i) sum += G.row(i)[j];
        square += sum * sum;
      }
    }
    const double n = double{kRounds} * kDim, expected = kAgents * 0.25 * 0.25;
    EXPECT_NEAR(square / n, expected, 5 * expected * std::sqrt(2 / n));  // five standard errors
  }
}

TEST(SharedNoise, ThatIsSimulatedIsTheSameForAnyPartAndThread) {
  const auto options = simulated(0.5, 1);
  Estimates estimates(options);
  const auto G = estimates.noise(4);
  Rows tiles(kAgents, kDim);
  for (std::size_t i = 0; i < kAgents; ++i) {
    estimates.estimator.prepare(i, Rows(kAgents, kDim).row(i), 4, tiles.row(i));
    for (const std::size_t first : {64, 0}) {  // in any order
      const Tile tile{i, first, first == 0 ? 64 : kDim - 64};
      estimates.estimator.release(tile, 4, tile.of(tiles.row(i)));
    }
  }
  EXPECT_TRUE(G == tiles);
  EXPECT_FALSE(G == estimates.noise(5));
}

TEST(SharedNoise, ThatIsSecretIsOnTheGridAndNeedsAllAgentsAndABegin) {
  const auto options = secret(0.5, 1);
  Estimates estimates(options);
  const auto first = estimates.noise(1), second = estimates.noise(1);
  EXPECT_FALSE(first == second);
  for (const double value : first.flat())
    EXPECT_EQ(std::remainder(value, options.secure->grid()), 0);
  const std::vector<std::uint32_t> some = {0, 1};
  Rows X(kAgents, kDim), G(kAgents, kDim);
  EXPECT_TRUE(says(what_fails([&] { estimates.estimator.estimate(some, X, 2, G); }),
                   "expected all 5, found 2"));
  EXPECT_TRUE(says(what_fails([&] { estimates.estimator.prepare(0, X.row(0), 7, G.row(0)); }),
                   "calls begin"));
}

TEST(SharedNoise, SecretNoiseRefusesAGridThatDoesNotSuitIt) {
  EXPECT_TRUE(says(what_fails([] {
                     SecureNoise(0.5, 0.5, kDim, {.stddev = 1e-9, .most_pairs = 3, .vectors = 11});
                   }),
                   "does not suit shared noise"));
  const SecureNoise noise(0.5, 0.5, kDim, {.stddev = 1, .most_pairs = 3, .vectors = 11});
  EXPECT_EQ(noise.statistical_distance(), 11 * SecureNoise(0.5, 0.5, kDim).statistical_distance());
  NoiseStream stream;
  std::vector<double> g(kDim);
  EXPECT_TRUE(says(what_fails([&] { noise.release(g, stream); }), "expected shared steps of 70"));
}

// --- the attack

double normal_tail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

// delta(epsilon) of the Gaussian mechanism whose shift is mu deviations.
double gaussian_delta(double mu, double epsilon) {
  return normal_tail(epsilon / mu - mu / 2) -
         std::exp(epsilon) * normal_tail(epsilon / mu + mu / 2);
}

// What the likelihood ratio of the joint noise, believed to have covariance S, finds: agent
// `victim` moved by `shift` in every coordinate, each of which is a trial. By symmetry one set of
// draws serves both worlds.
struct Attack {
  double threshold, delta, deviation;
};
Attack attack(const GradientOptions& options, const SmallMatrix& S, std::size_t victim,
              double shift, double epsilon, void (*plant)(Rows&)) {
  const auto weights = S.inverse();  // a symmetric matrix, of which the victim's row counts
  const double mu = shift * std::sqrt(weights(victim, victim));
  Estimates estimates(options);
  constexpr std::uint32_t kRounds = 3000;
  double with = 0, without = 0, square = 0;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    auto G = estimates.noise(round);
    plant(G);
    for (std::size_t j = 0; j < kDim; ++j) {
      double score = 0;  // standard normal where S is right
      for (std::size_t i = 0; i < kAgents; ++i) score += weights(victim, i) * G.row(i)[j];
      score /= std::sqrt(weights(victim, victim));
      square += score * score;
      without += mu * score - mu * mu / 2 > epsilon;
      with += mu * (score + mu) - mu * mu / 2 > epsilon;
    }
  }
  const double n = double{kRounds} * kDim;
  return {epsilon, (with - std::exp(epsilon) * without) / n, std::sqrt(square / n)};
}

void nothing(Rows&) {}

TEST(SharedNoise, ALikelihoodRatioAttackFindsExactlyTheClaimedDelta) {
  constexpr double kOwn = 0.4, kShared = 0.9, kShift = 0.8;
  const auto S = covariance(kOwn, kShared);
  for (const auto& options : {simulated(kOwn, kShared), secret(kOwn, kShared)}) {
    for (const std::size_t victim : {0, 3})
      for (const double epsilon : {0.2, 1.0}) {
        const double mu = kShift * std::sqrt(S.inverse()(victim, victim));
        const auto found = attack(options, S, victim, kShift, epsilon, nothing);
        const double claimed = gaussian_delta(mu, epsilon);
        // 210,000 trials: standard error of the probabilities below 0.0011 each.
        EXPECT_NEAR(found.delta, claimed, 5 * 0.0011 * (1 + std::exp(epsilon))) << victim;
        EXPECT_NEAR(found.delta / claimed, 1, 0.1) << victim << ' ' << epsilon;
        EXPECT_NEAR(found.deviation, 1, 0.01);
        EXPECT_LT(mu, kShift / kOwn);  // it is worth more than an agent's own noise
      }
  }
  // The worst agent is what is promised for.
  EXPECT_NEAR(pair_worth(*some_pairs(), kShared / kOwn, 0).gain * kOwn,
              1 / std::sqrt(S.inverse().largest_on_diagonal()), 1e-9);
}

// The same noise at both ends with the same sign neither cancels nor has covariance S.
TEST(SharedNoise, TheAttackNoticesAPlantedSignError) {
  constexpr double kOwn = 0.4, kShared = 0.9, kShift = 0.8;
  const auto S = covariance(kOwn, kShared);
  const auto found = attack(simulated(kOwn, kShared), S, 0, kShift, 0.2, [](Rows& G) {
    scale(-1, G.row(0));  // as if all signs at agent 0 were wrong
  });
  EXPECT_GT(std::abs(found.deviation - 1), 0.1);
}

// An agent that colludes with the eavesdropper takes its share out; what is left is worth less.
TEST(SharedNoise, AColluderTakesItsPartOut) {
  EXPECT_LT(pair_worth(*some_pairs(), 2, 1).gain, pair_worth(*some_pairs(), 2, 0).gain);
  EXPECT_EQ(pair_worth(*some_pairs(), 2, 2).gain, 1);  // agents 1, 3 and 4 have two neighbours
}

}  // namespace
}  // namespace porter
