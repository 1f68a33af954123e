// SPDX-License-Identifier: Apache-2.0
// Rounds and agents that differ, copies of images, and measured statistics.
#include <gtest/gtest.h>

#include "attacks.hpp"
#include "io/file.hpp"
#include "temp_dir.hpp"
#include "train/measure.hpp"

namespace porter {
namespace {

// Every agent is attacked on its own, as agents draw their own noise and batches: so many runs of
// each. `score` is that of an agent's release in a round.
template <class Score>
Scores attack_each(Worst& worst, std::span<const std::uint32_t> agents, std::size_t runs,
                   const Score& score) {
  Scores scores;
  for (const bool with : {false, true}) {
    auto options = worst.setups[with].gradients;
    for (std::size_t run = 0; run < runs; ++run) {
      options.seed = 2 * run + (with ? 1 : 0);
      GradientEstimator estimator(worst.setups[with].problem, options, worst.pool);
      Rows G(worst.X.agents(), 1);
      std::vector<double> sums(agents.size(), 0.0);
      for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
        estimator.estimate(agents, worst.X, round, G);
        for (std::size_t i = 0; i < agents.size(); ++i)
          sums[i] += score(agents[i], round, G.row(agents[i])[0]);
      }
      scores.of[with].insert(scores.of[with].end(), sums.begin(), sums.end());
    }
  }
  return scores;
}

std::vector<std::uint32_t> every(std::size_t step, std::size_t first, std::size_t agents) {
  std::vector<std::uint32_t> out;
  for (auto i = first; i < agents; i += step) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

TEST(AttackOnPhases, ComesNearTheEpsilonOfAllOfThem) {
  for (const Keys& sampling :
       {Keys{}, Keys{"algorithm.batch=3", "privacy.sampler=poisson", "privacy.epsilon=4"}}) {
    Keys keys = {"privacy.epsilon=2.5", "algorithm.rounds=4", "privacy.phases=1x1.5,2x1.5x0.2,1x1"};
    keys.insert(keys.end(), sampling.begin(), sampling.end());
    Worst worst(kMany, kRecords, keys);
    std::vector<WorstCase> of_round;
    for (const auto& phase : worst.parts[0].privacy->statement(4).phases)
      for (std::uint32_t i = 0; i < phase.rounds; ++i)
        of_round.push_back(promised(worst.parts[0].sampler(), phase.sigma, phase.clip));
    ASSERT_EQ(of_round.size(), 4U);
    expect_tight(attack_each(worst, every(1, 0, kMany), 400,
                             [&](std::uint32_t, std::uint32_t round, double released) {
                               return of_round[round - 1].score(released);
                             }),
                 worst.certified());
  }
}

// Half of the agents hold four records, half eight; all draw four.
TEST(AttackOnAgentsThatDiffer, ComesNearTheEpsilonOfEachRate) {
  std::string split = "sizes:4,8";
  for (std::size_t i = 2; i < kMany; ++i) split += i % 2 == 0 ? ",4" : ",8";
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < kMany; ++i) sizes.push_back(i % 2 == 0 ? 4 : 8);
  Worst worst(
      kMany, 8,
      {"data.split=" + split, "data.weigh=agents", "algorithm.batch=4", "algorithm.rounds=2",
       "privacy.sampler=poisson", "privacy.sigma=0.6", "privacy.calibration=sigma"},
      {.sizes = sizes});
  EXPECT_EQ(worst.certified(0), worst.parts[0].privacy->interval(2)->upper);  // the largest
  EXPECT_LT(worst.certified(1), worst.certified(0));
  for (const std::uint32_t agent : {0, 1}) {
    const auto& own = worst.parts[0].privacy->of(agent);
    const auto one = promised(own.sampler(), own.sigma(), 1);
    expect_tight(attack_each(worst, every(2, agent, kMany), 500,
                             [&](auto, auto, double released) { return one.score(released); }),
                 worst.certified(agent));
  }
}

TEST(AttackOnAgentsThatDiffer, ComesNearEachBudget) {
  std::string budgets = "3, 1.5";
  for (std::size_t i = 2; i < kMany; ++i) budgets += i % 2 == 0 ? ", 3" : ", 1.5";
  Worst worst(kMany, kRecords, {"privacy.budgets=[" + budgets + "]", "algorithm.rounds=3"});
  for (const std::uint32_t agent : {0, 1}) {
    const auto& own = worst.parts[0].privacy->of(agent);
    EXPECT_NEAR(worst.certified(agent), agent == 0 ? 3 : 1.5, 1e-2);
    const auto one = promised(own.sampler(), own.sigma(), 1);
    expect_tight(attack_each(worst, every(2, agent, kMany), 500,
                             [&](auto, auto, double released) { return one.score(released); }),
                 worst.certified(agent));
  }
}

// The canary's pixels are tau or more, whichever is first after a move, so the mean over copies is
// longer than tau as well. The sum over copies that are clipped each would be four times as long.
TEST(AttackOnCopies, ComesNearTheEpsilonOfOneGradientOfARecord) {
  Worst worst(kMany, kRecords,
              {"privacy.epsilon=2.5", "algorithm.rounds=2", "model.name=layers",
               "model.layers=[\"tanh\"]", "data.image=1x3", "algorithm.augment=shift-flip:1x4"},
              {.pixels = 3});
  ASSERT_TRUE(worst.setups[1].gradients.augment);
  const auto one = promised(worst.parts[0].sampler(), worst.parts[0].sigma(), 1);
  expect_tight(attack_each(worst, every(1, 0, kMany), 250,
                           [&](auto, auto, double released) { return one.score(released); }),
               worst.certified());
}

// The range of a column, and then rounds. The canary's value is in one bin of the range or in
// another, so its statistic moves by sqrt(2) tau / m; 2 tau / m is accounted, as for a gradient.
TEST(AttackOnStatistics, AndTheRoundsAfterThemComesNearTheEpsilonOfBoth) {
  constexpr std::size_t kAgents = 100, kRuns = 1000;
  TempDir dir;
  write_file(dir / "t.csv", "x,ill\n1,no\n");
  write_file(dir / "schema.toml", R"([file]
separator = ","
[label]
name = "ill"
classes = ["no", "yes"]
[[column]]
name = "x"
range = "measured"
)");
  const Keys keys = {"data.train=" + (dir / "t.csv").string(),
                     "data.schema=" + (dir / "schema.toml").string(), "privacy.epsilon=2.5",
                     "privacy.statistics=0.5", "algorithm.rounds=2"};
  Worst worst(kAgents, kRecords, keys);
  const auto one = promised(worst.parts[0].sampler(), worst.parts[0].sigma(), 1);
  auto scores = attack_each(worst, every(1, 0, kAgents), kRuns,
                            [&](auto, auto, double released) { return one.score(released); });
  EXPECT_LT(worst.certified() - 2.5, 1e-9);

  const auto config = worst_config(kAgents, keys);
  const Measurement measurement(config, config.data.schema, Statistic::ranges);
  std::vector<RunParts> parts;
  std::vector<std::uint32_t> bins;  // of the canary
  for (const bool with : {false, true}) {
    Dataset rows;
    rows.features = 2;  // a value, and whether it is missing
    rows.classes = {"no", "yes"};
    rows.labels.assign(kAgents * kRecords, 0.0F);
    for (std::size_t i = 0; i < rows.labels.size(); ++i) {
      const bool canary = i % kRecords == 0;
      rows.values.push_back(with ? 1.5F : -1.5F);
      rows.values.push_back(canary ? 0.0F : 1.0F);
    }
    bins.push_back(record_statistics(rows, Statistic::ranges).columns.front());
    parts.push_back(
        assemble(measurement.config(),
                 measurement.sources({.train = std::make_shared<const Dataset>(std::move(rows)),
                                      .test = nullptr,
                                      .source = "the worst"})));
  }
  ASSERT_NE(bins[0], bins[1]);
  const double sigma = parts[0].sigma();
  EXPECT_EQ(sigma, worst.parts[0].privacy->statistics().sigma);
  for (const bool with : {false, true}) {
    auto setup = algorithm_setup(parts[with], worst.pool);
    Rows X(kAgents, parts[with].facts.dim), G(X);
    for (std::size_t run = 0; run < kRuns; ++run) {
      setup.gradients.seed = 1'000'000 + 2 * run + (with ? 1 : 0);  // none of the training's
      GradientEstimator(setup.problem, setup.gradients, worst.pool).estimate(X, 1, G);
      for (std::size_t i = 0; i < kAgents; ++i)
        scores.of[with][run * kAgents + i] +=
            kUnit * (G.row(i)[bins[1]] - G.row(i)[bins[0]]) / (sigma * sigma);
    }
  }
  expect_tight(scores, worst.certified());
}

}  // namespace
}  // namespace porter
