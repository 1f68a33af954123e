// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/gradients.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/vector_math.hpp"
#include "privacy/secure_noise.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

// Twenty samples at each of three agents.
struct Fixture {
  Dataset data = toy_data(60, 8, 2, false);
  std::unique_ptr<const Model> model = make_model({.name = "logistic", .lambda = 0.2}, 8, 2);
  ThreadPool pool{1};
  Rows X = [] {
    Rows rows(3, 8);
    for (std::uint32_t i = 0; i < 3; ++i) RngStream(1, Draw::test, i, 0).fill_normal(rows.row(i));
    return rows;
  }();

  static BatchSampler sampler(std::size_t batch) { return {Sampler::fixed, 20, batch}; }

  Rows estimate(const GradientOptions& options, std::uint32_t round = 1) {
    Rows G(3, 8);
    GradientEstimator({*model, data, 3}, options, pool).estimate(X, round, G);
    return G;
  }
};

TEST(Gradients, FullBatchIsTheMeanOverTheAgentsOwnRows) {
  Fixture f;
  const auto G = f.estimate({.sampler = Fixture::sampler(20)});
  for (std::size_t agent = 0; agent < 3; ++agent) {
    std::vector<double> expected(8, 0.0), g(8);
    for (std::size_t row = 0; row < 20; ++row) {
      f.model->loss(f.X.row(agent), f.data[agent * 20 + row], g);
      axpy(0.05, g, expected);
    }
    EXPECT_LT(squared_distance(G.row(agent), expected), 1e-28);
  }
}

TEST(Gradients, BatchesAreDrawnWithoutReplacementAndDifferByAgentAndRound) {
  Fixture f;
  GradientEstimator estimator({*f.model, f.data, 3}, {.sampler = Fixture::sampler(7)}, f.pool);
  std::set<std::vector<std::uint32_t>> seen;
  for (std::size_t agent = 0; agent < 3; ++agent)
    for (std::uint32_t round = 1; round <= 20; ++round) {
      const auto batch = estimator.draw_batch(agent, round);
      EXPECT_EQ(std::set<std::uint32_t>(batch.begin(), batch.end()).size(), 7U);
      EXPECT_LT(batch.back(), 20U);
      seen.insert(batch);
    }
  EXPECT_EQ(seen.size(), 60U);  // 77520 subsets: two equal ones are unlikely, and the seed is fixed
}

TEST(Gradients, PerSampleAndPerBatchClippingAreNotTheSame) {
  Fixture f;
  const Clip clip = parse_clip("linear:0.3");
  const auto sample = f.estimate(
      {.sampler = Fixture::sampler(10), .clip = clip, .clip_target = ClipTarget::sample});
  const auto batch =
      f.estimate({.sampler = Fixture::sampler(10), .clip = clip, .clip_target = ClipTarget::batch});
  EXPECT_GT(squared_distance(sample.row(0), batch.row(0)), 1e-4);
  for (std::size_t agent = 0; agent < 3; ++agent) {
    EXPECT_LE(squared_norm(sample.row(agent)), 0.09);
    EXPECT_LE(squared_norm(batch.row(agent)), 0.09);
  }
}

TEST(Gradients, ReplacingOneSampleMovesTheMeanByAtMostTwoTauOverB) {
  Fixture f;
  const GradientOptions options{.sampler = Fixture::sampler(4), .clip = parse_clip("smooth:0.5")};
  double largest = 0;
  for (std::uint32_t round = 1; round <= 100; ++round) {
    const auto before = f.estimate(options, round);
    Fixture other;
    for (std::size_t j = 0; j < 8; ++j)
      other.data.values[3 * 8 + j] = -40.0F;  // sample 3 of agent 0
    const auto after = other.estimate(options, round);
    largest = std::max(largest, std::sqrt(squared_distance(before.row(0), after.row(0))));
    EXPECT_EQ(squared_distance(before.row(1), after.row(1)), 0);
  }
  EXPECT_LE(largest, 2 * 0.5 / 4);
  EXPECT_GT(largest, 0.5 / 4 * 0.5);  // it was drawn now and then, and it matters
}

TEST(Gradients, NoiseHasTheStandardDeviationOnEveryCoordinateAndIsFresh) {
  Fixture f;
  const auto clean = f.estimate({.sampler = Fixture::sampler(20)});
  double sum = 0, square = 0, lag = 0, across = 0;
  constexpr std::uint32_t rounds = 4000;
  std::vector<double> previous(8, 0.0);
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const auto noisy = f.estimate({.sampler = Fixture::sampler(20), .noise_stddev = 0.7}, round);
    for (std::size_t j = 0; j < 8; ++j) {
      const double e = noisy.row(0)[j] - clean.row(0)[j], other = noisy.row(1)[j] - clean.row(1)[j];
      sum += e, square += e * e, lag += e * previous[j], across += e * other;
      previous[j] = e;
    }
  }
  const double n = rounds * 8.0, five = 5 / std::sqrt(n);  // five standard errors
  EXPECT_NEAR(sum / n, 0, five * 0.7);
  EXPECT_NEAR(square / n, 0.49, five * 0.49 * std::sqrt(2.0));
  EXPECT_NEAR(lag / n, 0, five * 0.49);
  EXPECT_NEAR(across / n, 0, five * 0.49);
}

TEST(Gradients, PoissonBatchesVaryButTheDivisorDoesNot) {
  Fixture f;
  const BatchSampler poisson(Sampler::poisson, 20, 2);
  GradientEstimator estimator({*f.model, f.data, 3}, {.sampler = poisson}, f.pool);
  std::set<std::size_t> sizes;
  double total = 0;
  for (std::uint32_t round = 1; round <= 500; ++round) {
    const auto batch = estimator.draw_batch(0, round);
    sizes.insert(batch.size());
    total += static_cast<double>(batch.size());
    Rows G(3, 8);
    estimator.estimate(f.X, round, G);
    std::vector<double> expected(8, 0.0), g(8);
    for (const auto index : batch) {
      f.model->loss(f.X.row(0), f.data[index], g);
      axpy(0.5, g, expected);  // 1/b with the configured b = 2
    }
    ASSERT_LE(squared_distance(G.row(0), expected), 1e-30 * (1 + squared_norm(expected)));  // order
  }
  EXPECT_TRUE(sizes.contains(0));  // an empty batch is a batch
  EXPECT_GT(sizes.size(), 4U);
  EXPECT_NEAR(total / 500, 2, 5 * std::sqrt(1.8 / 500));  // five standard errors
}

TEST(Gradients, AnEmptyPoissonBatchStillSendsNoise) {
  Fixture f;
  GradientEstimator estimator({*f.model, f.data, 3},
                              {.sampler = {Sampler::poisson, 20, 1}, .noise_stddev = 1}, f.pool);
  for (std::uint32_t round = 1; round <= 50; ++round) {
    if (!estimator.draw_batch(0, round).empty()) continue;
    Rows G(3, 8);
    estimator.estimate(f.X, round, G);
    EXPECT_GT(squared_norm(G.row(0)), 0);
    return;
  }
  FAIL() << "no empty batch in 50 rounds, each empty with probability 0.36";
}

TEST(Gradients, SecureNoiseIsOnItsGridAndNeverTheSameTwice) {
  Fixture f;
  const auto secure = std::make_shared<SecureNoise>(0.5, 2.0 / 4, 8);
  const GradientOptions options{.sampler = Fixture::sampler(4),
                                .clip = parse_clip("smooth:1"),
                                .noise_stddev = 0.5,
                                .secure = secure};
  const auto first = f.estimate(options), second = f.estimate(options);
  EXPECT_FALSE(first == second);  // same seed, same round
  for (const double value : first.flat()) EXPECT_EQ(std::remainder(value, secure->grid()), 0);
}

// A term of the caller's own may be longer than the noise was made for.
TEST(Gradients, TermsOfTheCallerHaveNoSecretNoise) {
  Fixture f;
  GradientEstimator estimator({*f.model, f.data, 3},
                              {.sampler = Fixture::sampler(4),
                               .noise_stddev = 0.5,
                               .secure = std::make_shared<SecureNoise>(0.5, 2.0 / 4, 8)},
                              f.pool);
  std::vector<double> g(8);
  try {
    estimator.prepare_terms(
        0, 1, [](const Sample&, std::span<double>) {}, g);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::privacy);
  }
}

// Terms that are the gradients themselves: what is clipped, averaged and noised is the same.
TEST(Gradients, TermsAreClippedAndNoisedLikeGradients) {
  Fixture f;
  f.data.weights.assign(60, 0.5F);
  for (const std::size_t batch : {1, 4})
    for (const auto target : {ClipTarget::sample, ClipTarget::batch})
      for (const char* clip : {"smooth:0.3", "linear:0.3", "none"})
        for (const double noise_stddev : {0.0, 0.5}) {
          SCOPED_TRACE(testing::Message() << batch << ' ' << clip << ' ' << noise_stddev);
          const GradientOptions options{.sampler = Fixture::sampler(batch),
                                        .clip = parse_clip(clip),
                                        .clip_target = target,
                                        .noise_stddev = noise_stddev};
          const auto expected = f.estimate(options);
          GradientEstimator estimator({*f.model, f.data, 3}, options, f.pool);
          for (std::size_t agent = 0; agent < 3; ++agent) {
            std::vector<double> g(8);
            estimator.prepare_clipped(
                agent, 1,
                [&](const Sample& z, std::span<double> term) {
                  weighted_loss(*f.model, f.X.row(agent), z, term);
                },
                g);
            estimator.release(Tile{agent, 0, 8}, 1, g);
            EXPECT_LT(squared_distance(g, expected.row(agent)), 1e-20);  // the slack of clipping
          }
        }
}

// One record's term, infinite at first, is worth nothing, and no other is longer than tau.
TEST(Gradients, ATermThatIsBrokenContributesNothing) {
  Fixture f;
  GradientEstimator estimator({*f.model, f.data, 3},
                              {.sampler = Fixture::sampler(4), .clip = parse_clip("linear:0.5")},
                              f.pool);
  std::vector<double> g(8);
  int number = 0;
  estimator.prepare_clipped(
      0, 1,
      [&](const Sample&, std::span<double> term) {
        const double values[] = {INFINITY, 1e200, 1e9, NAN};
        std::ranges::fill(term, values[number++]);
      },
      g);
  estimator.release(Tile{0, 0, 8}, 1, g);
  EXPECT_EQ(number, 4);
  EXPECT_NEAR(std::sqrt(squared_norm(g)), 0.5 / 4, 1e-10);  // 1e9; the norm of 1e200 is infinite
}

TEST(Gradients, ClippedTermsHaveSecretNoiseAndAreInTheJournal) {
  struct Journal final : ReleaseJournal {
    bool recall(std::size_t, std::uint32_t round, std::span<double> g) override {
      if (!rounds.contains(round)) return false;
      std::ranges::copy(rounds[round], g.begin());
      return true;
    }
    void record(std::size_t, std::uint32_t round, std::span<const double> g) override {
      rounds[round].assign(g.begin(), g.end());
    }
    std::map<std::uint32_t, std::vector<double>> rounds;
  };
  Fixture f;
  Journal journal;
  const auto secure = std::make_shared<SecureNoise>(0.5, 2.0 / 4, 8);
  GradientEstimator estimator({*f.model, f.data, 3},
                              {.sampler = Fixture::sampler(4),
                               .clip = parse_clip("smooth:1"),
                               .noise_stddev = 0.5,
                               .secure = secure,
                               .journal = &journal},
                              f.pool);
  int terms = 0;
  const auto released = [&](std::uint32_t round) {
    std::vector<double> g(8);
    estimator.prepare_clipped(
        0, round,
        [&](const Sample&, std::span<double> term) {
          ++terms;
          std::ranges::fill(term, 1.0);
        },
        g);
    estimator.release(Tile{0, 0, 8}, round, g);
    return g;
  };
  const auto first = released(1), second = released(2);
  for (const double value : first) EXPECT_EQ(std::remainder(value, secure->grid()), 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(terms, 8);
  EXPECT_EQ(released(1), first);  // done again after a restart
  EXPECT_EQ(terms, 8);
}

TEST(Gradients, InFloatTheyAreTheDoubleOnesRoundedOnceAndTheNoiseIsAddedInFloat) {
  Fixture f;
  BasicRows<float> x(3, 8), g(3, 8);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      f.X.row(i)[j] = x.row(i)[j] = static_cast<float>(f.X.row(i)[j]);
  for (const double noise_stddev : {0.0, 0.5}) {
    const GradientOptions options{.sampler = Fixture::sampler(4),
                                  .clip = parse_clip("smooth:1"),
                                  .noise_stddev = noise_stddev};
    const auto G = f.estimate(options);
    GradientEstimator estimator({*f.model, f.data, 3}, options, f.pool);
    for (std::size_t i = 0; i < 3; ++i) {
      estimator.prepare(i, std::as_const(x).row(i), 1, g.row(i));
      estimator.release(Tile{i, 0, 8}, 1, g.row(i));
    }
    const auto wide = G.flat(), narrow = g.flat();
    for (std::size_t k = 0; k < wide.size(); ++k) {
      if (noise_stddev == 0) {
        EXPECT_EQ(narrow[k], static_cast<float>(wide[k]));
      }
      // The gradient, the product and the sum are rounded, each by 6e-8 of at most 3.
      EXPECT_NEAR(narrow[k], wide[k], 6e-7);
    }
  }
}

// A perceptron's batch is computed in float as a whole, whatever is clipped.
TEST(Gradients, OfABatchThroughLayersInFloatAreTheDoubleOnesButForRounding) {
  const Dataset data = toy_data(60, 8, 3, false);
  const auto model = make_model({.name = "mlp", .hidden = {6}}, 8, 3);
  ThreadPool pool(1);
  Rows X(3, model->dim()), G(3, model->dim());
  BasicRows<float> x(3, model->dim()), g(3, model->dim());
  for (std::uint32_t i = 0; i < 3; ++i) {
    RngStream(1, Draw::test, i, 0).fill_normal(X.row(i));
    scaled_copy(1.0, X.row(i), x.row(i));
    widen(x.row(i), X.row(i));
  }
  for (const auto target : {ClipTarget::sample, ClipTarget::batch})
    for (const char* clip : {"smooth:0.3", "linear:0.3", "none"}) {
      const GradientOptions options{.sampler = Fixture::sampler(7),
                                    .clip = parse_clip(clip),
                                    .clip_target = target,
                                    .noise_stddev = 0.5};
      GradientEstimator estimator({*model, data, 3}, options, pool);
      estimator.estimate(X, 4, G);
      for (std::size_t i = 0; i < 3; ++i) {
        estimator.prepare(i, std::as_const(x).row(i), 4, g.row(i));
        estimator.release(Tile{i, 0, x.dim()}, 4, g.row(i));
      }
      const auto wide = G.flat(), narrow = g.flat();
      for (std::size_t k = 0; k < wide.size(); ++k)
        EXPECT_NEAR(narrow[k], wide[k], 2e-6) << clip << (target == ClipTarget::batch);
    }
}

// One sample's gradient stays in factors until it is released, and batches are drawn ahead: neither
// tiles nor the order of rounds show.
TEST(Gradients, OfOneSampleAreTheSameInTilesAsInWholeAndInAnyOrderOfRounds) {
  const Dataset data = toy_data(60, 40, 3, false);
  const auto model = make_model({.name = "mlp", .hidden = {60}}, 40, 3);  // more than a tile
  ThreadPool pool(1);
  Rows X(3, model->dim()), G(X);
  BasicRows<float> x(3, model->dim()), g(3, model->dim());
  for (std::uint32_t i = 0; i < 3; ++i) {
    RngStream(1, Draw::test, i, 0).fill_normal(X.row(i));
    scaled_copy(1.0, X.row(i), x.row(i));
    widen(x.row(i), X.row(i));
  }
  for (const double noise_stddev : {0.0, 0.5}) {
    const GradientOptions options{.sampler = Fixture::sampler(1),
                                  .clip = parse_clip("smooth:0.3"),
                                  .noise_stddev = noise_stddev};
    GradientEstimator running({*model, data, 3}, options, pool);
    for (const std::uint32_t round : {1, 2, 3, 7, 2}) {
      GradientEstimator({*model, data, 3}, options, pool).estimate(X, round, G);
      for (std::size_t i = 0; i < 3; ++i)
        running.prepare(i, std::as_const(x).row(i), round, g.row(i));
      for_each_tile(pool, 3, x.dim(), [&](const Tile& tile) {
        running.release(tile, round, tile.of(g.row(tile.agent)));
      });
      const auto wide = G.flat(), narrow = g.flat();
      for (std::size_t k = 0; k < wide.size(); ++k) {
        if (noise_stddev == 0) {
          ASSERT_EQ(narrow[k], static_cast<float>(wide[k])) << round;
        }
        ASSERT_NEAR(narrow[k], wide[k], 6e-7) << round;
      }
    }
  }
}

// One thread computes all agents of a small problem together, two threads one at a time.
TEST(Gradients, OfOneSampleEachSideBySideHaveTheBitsOfOneAtATime) {
  constexpr std::size_t kAgents = 20, kDim = 8;
  std::vector<std::uint32_t> all(kAgents);
  std::iota(all.begin(), all.end(), 0U);
  Rows X(kAgents, kDim);
  BasicRows<float> narrow(kAgents, kDim);
  for (const auto i : all) {
    RngStream(1, Draw::test, i, 0).fill_normal(X.row(i));
    scaled_copy(1.0, X.row(i), narrow.row(i));
  }
  for (const bool sparse : {false, true})
    for (const double lambda : {0.0, 0.2})
      for (const char* clip : {"none", "smooth:1", "linear:0.3"}) {
        SCOPED_TRACE(testing::Message() << sparse << ' ' << lambda << ' ' << clip);
        auto data = toy_data(3 * kAgents, kDim, 2, sparse);
        data.values[0] = std::numeric_limits<float>::infinity();
        data.weights.assign(data.rows(), 0.5F);
        const auto model = make_model({.name = "logistic", .lambda = lambda}, kDim, 2);
        const GradientOptions options{
            .sampler = {Sampler::fixed, 3, 1}, .clip = parse_clip(clip), .noise_stddev = 0.1};
        ThreadPool one(1), two(2);
        GradientEstimator together({*model, data, kAgents}, options, one);
        GradientEstimator apart({*model, data, kAgents}, options, two);
        for (const std::uint32_t round : {1U, 2U, 3U, 2U, 7U}) {
          Rows G(kAgents, kDim), expected(G);
          together.estimate(X, round, G);
          apart.estimate(X, round, expected);
          BasicRows<float> g(kAgents, kDim), expected_g(g);
          together.begin(all, narrow, round);
          for (const auto i : all) {
            ASSERT_EQ(std::memcmp(G.row(i).data(), expected.row(i).data(), kDim * sizeof(double)),
                      0)
                << round << ' ' << i;
            together.prepare(i, narrow.row(i), round, g.row(i));
            together.release({i, 0, kDim}, round, g.row(i));
            apart.prepare(i, narrow.row(i), round, expected_g.row(i));
            apart.release({i, 0, kDim}, round, expected_g.row(i));
            ASSERT_EQ(std::memcmp(g.row(i).data(), expected_g.row(i).data(), kDim * sizeof(float)),
                      0)
                << round << ' ' << i;
          }
        }
      }
}

TEST(Gradients, ABrokenSampleContributesNothing) {
  Fixture f;
  f.data.values[0] = std::numeric_limits<float>::infinity();  // sample 0 of agent 0
  const auto G = f.estimate({.sampler = Fixture::sampler(20), .clip = parse_clip("smooth:1")});
  EXPECT_TRUE(all_finite(G.flat()));
}

// It is drawn like any other, and the divisor stays b.
TEST(Gradients, AVoidRecordAddsZeroOnEveryPath) {
  for (const char* name : {"logistic", "softmax", "mlp"})
    for (const bool sparse : {false, true})
      for (const std::size_t batch : {1, 7, 20})
        for (const auto target : {ClipTarget::sample, ClipTarget::batch}) {
          SCOPED_TRACE(testing::Message() << name << ' ' << sparse << ' ' << batch);
          auto data = toy_data(20, 8, 2, sparse);
          const auto model = make_model({.name = name, .lambda = 0.1, .hidden = {3}}, 8, 2);
          const GradientOptions options{.sampler = {Sampler::fixed, 20, batch},
                                        .clip = parse_clip("smooth:1"),
                                        .clip_target = target};
          ThreadPool pool(1);
          Rows X(1, model->dim()), G(X);
          RngStream(1, Draw::test, 0, 0).fill_normal(X.row(0));
          GradientEstimator estimator({*model, data, 1}, options, pool);
          const auto drawn = estimator.draw_batch(0, 1);
          data.voids.assign(20, 0);
          for (const auto row : drawn) data.voids[row] = 1;
          EXPECT_EQ(estimator.draw_batch(0, 1), drawn);
          estimator.estimate(X, 1, G);
          EXPECT_EQ(squared_norm(G.row(0)), 0);
          std::vector<float> x(X.dim(), 0.5F), g(X.dim(), 1.0F);
          estimator.prepare(0, x, 1, g);
          EXPECT_EQ(squared_norm(g), 0);
          const auto add_one = [](const Sample&, std::span<double> out) { out[0] = 1; };
          estimator.prepare_terms(0, 1, add_one, G.row(0));
          EXPECT_EQ(G.row(0)[0], 0);

          if (batch == 1) continue;
          data.voids[drawn[0]] = 0;  // one that counts: its clipped gradient over b
          estimator.estimate(X, 1, G);
          std::vector<double> alone(X.dim());
          model->loss(X.row(0), data[drawn[0]], alone);
          if (target == ClipTarget::sample) options.clip.apply(alone);
          for (double& value : alone) value /= static_cast<double>(batch);
          if (target == ClipTarget::batch) options.clip.apply(alone);
          EXPECT_LT(squared_distance(G.row(0), alone), 1e-20);
        }
}

}  // namespace
}  // namespace porter
