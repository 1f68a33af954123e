// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "toy_network.hpp"
#include "tracker_drift.hpp"

namespace porter {
namespace {

double distance(std::span<const double> a, std::span<const double> b) {
  return std::sqrt(squared_distance(a, b));
}

TEST(Porter, TheMeanTrackerIsTheMeanGradientForEveryGraphRuleAndCompressor) {
  for (const char* graph : {"ring", "star", "erdos-renyi:0.6", "complete"})
    for (const char* mixing : {"metropolis", "fdla", "lazy"})
      for (const char* compressor : {"identity", "top_k:0.3", "random_k:0.3", "sign", "gsgd:4"}) {
        SCOPED_TRACE(testing::Message() << graph << ' ' << mixing << ' ' << compressor);
        const auto toy = ToyNetwork{.graph = graph,
                                    .mixing = mixing,
                                    .compressor = compressor,
                                    .gamma = 0.1,
                                    .noise_stddev = 0.5}
                             .build();
        for (std::uint32_t round = 1; round <= 50; ++round) {
          toy->algorithm->step(round);
          // Rounding only: the terms are of order one and the weights sum to one to 1e-15.
          ASSERT_LT(*toy->algorithm->tracking_error(), 1e-13) << "round " << round;
        }
      }
}

TEST(Porter, TheAverageFollowsAveragedSgdExactly) {
  const auto toy = ToyNetwork{.compressor = "random_k:0.3", .noise_stddev = 0.2}.build();
  auto expected = mean_row(toy->algorithm->iterates());
  for (std::uint32_t round = 1; round <= 200; ++round) {
    const auto mean_G = mean_row(toy->next_gradients(round));
    toy->algorithm->step(round);
    axpy(-0.1, mean_G, expected);  // eta of the toy
    ASSERT_LT(distance(mean_row(toy->state("V")), mean_G), 1e-13) << round;
    ASSERT_LT(distance(mean_row(toy->algorithm->iterates()), expected), 1e-12) << round;
  }
}

// A float running sum drifts by 0.45 in 3e5 rounds of such a problem.
TEST(Porter, TheMeanTrackerDoesNotDriftInAMillionRounds) {
  EXPECT_LT(worst_tracker_drift(4, "top_k:0.25", 0.2, Precision::wide, 1'000'000), 1e-6);
  // Here gaps are stored.
  EXPECT_LT(worst_tracker_drift(33, "top_k:k=1", 0.02, Precision::wide, 200'000), 1e-6);
}

TEST(Porter, TheIncrementalGapIsTheMatrixProduct) {
  const auto toy = ToyNetwork{.graph = "erdos-renyi:0.6",
                              .mixing = "fdla",
                              .compressor = "top_k:k=2",
                              .features = 70,
                              .gamma = 0.02}
                       .build();
  for (std::uint32_t round = 1; round <= 300; ++round) toy->algorithm->step(round);
  for (const auto* channel : {"0", "1"}) {
    const Rows& Q = toy->state(std::string("Q") + channel);
    const Rows& gap = toy->state(std::string("gap") + channel);
    for (std::size_t i = 0; i < Q.agents(); ++i) {
      std::vector<double> expected(Q.dim(), 0.0);
      for (std::size_t j = 0; j < Q.agents(); ++j)
        axpy(toy->network.mixing(j, i) - (i == j), Q.row(j), expected);
      EXPECT_LT(distance(gap.row(i), expected), 1e-12);
    }
  }
}

TEST(Porter, BeerFindsAStationaryPointWithFullBatches) {
  const auto toy = ToyNetwork{.compressor = "top_k:0.3",
                              .algorithm = "beer",
                              .clip = "none",
                              .batch = 10,
                              .eta = 0.1,
                              .gamma = 0.2}
                       .build();
  for (std::uint32_t round = 1; round <= 40000; ++round) toy->algorithm->step(round);
  const auto x = mean_row(toy->algorithm->iterates());
  std::vector<double> gradient(x.size(), 0.0);
  toy->model->evaluate(x, toy->data, 0, toy->data.rows(), gradient);
  EXPECT_LT(std::sqrt(squared_norm(gradient)) / static_cast<double>(toy->data.rows()), 1e-6);
  EXPECT_LT(distance(toy->algorithm->iterates().row(0), x), 1e-6);  // and the agents agree
}

TEST(Motef, IsBeerWithMomentum) {
  const auto after_100 = [](const char* algorithm, double momentum) {
    const auto toy =
        ToyNetwork{.algorithm = algorithm, .clip = "none", .momentum = momentum, .gossip = 2}
            .build();
    for (std::uint32_t round = 1; round <= 100; ++round) toy->algorithm->step(round);
    return toy->algorithm->iterates();
  };
  EXPECT_EQ(after_100("motef", 0.2), after_100("beer", 0.2));
  EXPECT_EQ(after_100("motef", 1), after_100("beer", 1));
  EXPECT_NE(after_100("motef", 0.2), after_100("beer", 1));
}

TEST(Motef, IsPorterDpWithMomentumWhereNothingIsClippedOrNoised) {
  const auto after_100 = [](const char* algorithm, double momentum) {
    const auto toy = ToyNetwork{.compressor = "random_k:0.3",
                                .algorithm = algorithm,
                                .clip = "none",
                                .clip_target = ClipTarget::sample,
                                .momentum = momentum}
                         .build();
    for (std::uint32_t round = 1; round <= 100; ++round) toy->algorithm->step(round);
    return toy->algorithm->iterates();
  };
  EXPECT_EQ(after_100("porter-dp", 0.2), after_100("motef", 0.2));
  EXPECT_NE(after_100("porter-dp", 0.2), after_100("porter-dp", 1));
}

// Its private form: what is clipped and noised is the gradient, and the low-pass comes after.
TEST(Motef, WithClippingAndNoiseTracksTheLowPassOfWhatIsReleased) {
  const auto toy = ToyNetwork{.compressor = "random_k:0.3",
                              .algorithm = "porter-dp",
                              .clip = "smooth:0.5",
                              .clip_target = ClipTarget::sample,
                              .noise_stddev = 0.4,
                              .momentum = 0.2}
                       .build();
  toy->gradients.momentum = 1;  // of next_gradients: they are the releases
  std::vector<double> M(7, 0.0);
  for (std::uint32_t round = 1; round <= 100; ++round) {
    for (double& value : M) value *= 0.8;
    axpy(0.2, mean_row(toy->next_gradients(round)), M);
    toy->algorithm->step(round);
    ASSERT_LT(distance(mean_row(toy->state("V")), M), 1e-13) << round;
  }
}

TEST(MotefVr, IsBeerWhereNothingOfThePastIsKept) {
  const auto after_50 = [](const char* algorithm) {
    const auto toy =
        ToyNetwork{.compressor = "random_k:0.3", .algorithm = algorithm, .clip = "none"}.build();
    for (std::uint32_t round = 1; round <= 50; ++round) toy->algorithm->step(round);
    return toy->algorithm->iterates();
  };
  const auto vr = after_50("motef-vr"), beer = after_50("beer");
  for (std::size_t i = 0; i < vr.agents(); ++i)
    EXPECT_LT(distance(vr.row(i), beer.row(i)), 1e-5) << i;  // sums in another order, then floats
}

// With all samples in every batch, M = G + (1 - beta) (M - G_prev) is G itself: momentum without
// its lag.
TEST(MotefVr, HasNoLagOnWholeGradients) {
  const auto after_50 = [](double momentum) {
    const auto toy = ToyNetwork{.compressor = "random_k:0.3",
                                .algorithm = "motef-vr",
                                .clip = "none",
                                .batch = 10,
                                .momentum = momentum}
                         .build();
    for (std::uint32_t round = 1; round <= 50; ++round) toy->algorithm->step(round);
    return toy->algorithm->iterates();
  };
  const auto one = after_50(0.1), other = after_50(1);
  for (std::size_t i = 0; i < one.agents(); ++i)
    EXPECT_LT(distance(one.row(i), other.row(i)), 1e-5) << i;
}

// Two runs that differ in the last round by one record of the first agent release what is apart by
// at most 2 tau / b, whatever that record has in both gradients, and their M is as far apart.
TEST(MotefVr, OneRecordMovesAReleaseByAtMostTwoTauOverB) {
  constexpr double kTau = 0.01, kMost = 2 * kTau / 2;
  double largest = 0;
  for (std::uint32_t last = 1; last <= 40; ++last) {
    const auto M = [&](bool replaced) {
      const auto toy = ToyNetwork{.compressor = "random_k:0.3",
                                  .algorithm = "motef-vr",
                                  .clip = "linear:0.01",
                                  .clip_target = ClipTarget::sample,
                                  .eta = 2,
                                  .noise_stddev = 0.2,
                                  .lambda = 0,
                                  .momentum = 0.1}
                           .build();
      for (std::uint32_t round = 1; round < last; ++round) toy->algorithm->step(round);
      if (replaced) toy->data.labels[3] = 1 - toy->data.labels[3];
      toy->algorithm->step(last);
      return toy->state("M");
    };
    const auto a = M(false), b = M(true);
    largest = std::max(largest, distance(a.row(0), b.row(0)));
    for (std::size_t agent = 1; agent < a.agents(); ++agent)
      EXPECT_EQ(squared_distance(a.row(agent), b.row(agent)), 0);
  }
  EXPECT_LE(largest, kMost * (1 + 1e-12));  // M is a sum that is rounded
  EXPECT_GT(largest, 0.9 * kMost);          // the record was drawn, and turned round
}

// In a round its M is a release and what is left of the M before: noise enters once. Nobody moves,
// so that both runs have the same gradients.
TEST(MotefVr, IsNoisedLikePorterDp) {
  const auto releases = [](double noise_stddev) {
    const auto toy = ToyNetwork{.algorithm = "motef-vr",
                                .clip = "smooth:0.5",
                                .clip_target = ClipTarget::sample,
                                .eta = 0,
                                .noise_stddev = noise_stddev,
                                .momentum = 0.3}
                         .build();
    toy->algorithm->step(1);
    const auto first = toy->state("M");
    toy->algorithm->step(2);
    auto second = toy->state("M");
    for (std::size_t i = 0; i < second.agents(); ++i) axpy(-0.7, first.row(i), second.row(i));
    return std::pair(first, second);
  };
  const auto [noisy, noisy_2] = releases(0.7);
  const auto [clean, clean_2] = releases(0);
  // The first round is porter-dp's, where the noise of an estimator is known.
  auto toy = ToyNetwork{.algorithm = "porter-dp",
                        .clip = "smooth:0.5",
                        .clip_target = ClipTarget::sample,
                        .noise_stddev = 0.7}
                 .build();
  const auto released = toy->next_gradients(1), released_2 = toy->next_gradients(2);
  toy->gradients.noise_stddev = 0;
  const auto gradients = toy->next_gradients(1), gradients_2 = toy->next_gradients(2);
  for (std::size_t i = 0; i < noisy.agents(); ++i) {
    // Clipping allows norms 1e-10 for their rounding.
    EXPECT_LT(distance(noisy.row(i), released.row(i)), 1e-10);
    EXPECT_LT(distance(clean.row(i), gradients.row(i)), 1e-10);
    for (std::size_t j = 0; j < noisy.dim(); ++j)
      EXPECT_NEAR(noisy_2.row(i)[j] - clean_2.row(i)[j],
                  released_2.row(i)[j] - gradients_2.row(i)[j], 1e-10);
  }
}

TEST(Algorithms, EqualBitsForAnyNumberOfThreads) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    std::vector<Rows> results;
    for (const std::size_t threads : {1, 2, 4}) {
      const auto toy = ToyNetwork{.compressor = info.compresses ? "random_k:0.3" : "identity",
                                  .algorithm = info.name,
                                  .threads = threads,
                                  .noise_stddev = 0.1,
                                  .unbiased = info.meeting == AlgorithmInfo::Meeting::server}
                           .build();
      for (std::uint32_t round = 1; round <= 30; ++round) toy->algorithm->step(round);
      results.push_back(toy->algorithm->iterates());
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

TEST(Algorithms, AllDescendOnAnEasyProblem) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    const auto toy = ToyNetwork{.compressor = info.compresses ? "random_k:0.5" : "identity",
                                .algorithm = info.name,
                                .clip = info.name == "beer" ? "none" : "smooth:1.0",
                                .batch = 5,
                                .eta = 0.2,
                                .gamma = 0.2,
                                .unbiased = info.meeting == AlgorithmInfo::Meeting::server}
                         .build();
    const auto loss = [&] {
      return toy->model
          ->evaluate(mean_row(toy->algorithm->iterates()), toy->data, 0, toy->data.rows(), {})
          .loss;
    };
    const double start = loss();
    for (std::uint32_t round = 1; round <= 400; ++round) toy->algorithm->step(round);
    EXPECT_LT(loss(), 0.8 * start);
  }
}

TEST(Algorithms, TrafficIsTheLengthOfThePayloads) {
  constexpr std::uint64_t agents = 6, rounds = 10, degree = 2, features = 7;
  const auto traffic = [&](const char* algorithm, const char* compressor) {
    const auto toy = ToyNetwork{.compressor = compressor, .algorithm = algorithm}.build();
    for (std::uint32_t round = 1; round <= rounds; ++round) toy->algorithm->step(round);
    return toy->algorithm->traffic();
  };
  constexpr std::uint64_t random_2 = 2 * 4 + 4, dense = features * 4 + 4;  // values and checksum
  const auto porter = traffic("porter-gc", "random_k:k=2");
  EXPECT_EQ(porter.message_bytes, agents * rounds * 2 * random_2);  // V and X
  EXPECT_EQ(porter.link_bytes, degree * porter.message_bytes);
  EXPECT_EQ(traffic("choco-sgd", "random_k:k=2").message_bytes, agents * rounds * random_2);
  EXPECT_EQ(traffic("dsgd", "identity").message_bytes, agents * rounds * dense);
  const auto soteria = traffic("soteriafl-sgd", "random_k:k=2");
  EXPECT_EQ(soteria.message_bytes, agents * rounds * random_2);
  EXPECT_EQ(soteria.link_bytes, agents * rounds * (random_2 + 4 * features));  // and the answer
}

TEST(Algorithms, NeedANetworkOnlyIfTheirAgentsHaveNeighbours) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    const auto toy = ToyNetwork{}.build();
    const AlgorithmSetup setup{.problem = {*toy->model, toy->data, 6},
                               .compressor = *toy->compressor,
                               .pool = toy->pool,
                               .start = std::vector<double>(toy->model->dim()),
                               .gradients = toy->gradients};
    if (!info.gossips()) {
      info.make(setup)->step(1);
      continue;
    }
    try {
      info.make(setup);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("needs a network"), std::string::npos);
    }
  }
}

TEST(Algorithms, UnknownNamesAreRefusedWithTheList) {
  try {
    find_algorithm("sgd");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("soteriafl-sgd"), std::string::npos);
  }
}

}  // namespace
}  // namespace porter
