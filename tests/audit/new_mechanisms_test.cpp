// SPDX-License-Identifier: Apache-2.0
// Mechanisms that `porter privacy audit` refuses, and copies and local steps as they are sent,
// attacked as a training releases them: its own options and estimator on the data that leak most,
// the likelihood ratio of those data, and the intervals of Clopper and Pearson. What is found is
// below the certified epsilon, and above half of it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "audit/audit.hpp"
#include "audit/mechanism.hpp"
#include "audit/models.hpp"
#include "audit/statistics.hpp"
#include "core/normal_noise.hpp"
#include "io/file.hpp"
#include "porter/train/assemble.hpp"
#include "small_matrix.hpp"
#include "temp_dir.hpp"
#include "train/measure.hpp"

namespace porter {
namespace {

using Keys = std::vector<std::string>;

constexpr double kDelta = 1e-3;
constexpr float kFar = 1e9F;  // of whose smooth clip nobody sees that it is not tau

Config worst_config(std::size_t agents, const Keys& more) {
  Keys keys = {concat("network.agents=", agents), "network.graph=complete",
               "network.mixing=metropolis",       "algorithm.name=dp-dsgd",
               "algorithm.compressor=identity",   "algorithm.step=1",
               "algorithm.consensus=0.5",         "algorithm.start=zeros",
               "algorithm.clip=smooth:1",         "algorithm.batch=full",
               concat("privacy.delta=", kDelta),  "run.threads=1"};
  keys.insert(keys.end(), more.begin(), more.end());
  return parse_config("", "test", keys);
}

// What the records are, beside the canaries.
struct Records {
  std::vector<std::size_t> sizes = {};
  std::size_t pixels = 1;
  float others = 0;                              ///< the feature of those that are no canary
  std::optional<std::size_t> victim = {};        ///< the only agent with a canary; else all
  std::shared_ptr<const Model> model = nullptr;  ///< else the gradient is the feature
};

// Agents with m records of one feature (or an image), which is their gradient. The first record of
// each is the canary, opposed in the neighbouring data, and the others have no gradient.
struct Worst {
  Worst(std::size_t agents, std::size_t m, const Keys& keys, const Records& records = {})
      : X(agents, 1) {
    const auto pixels = records.pixels;
    auto config = worst_config(agents, keys);
    if (config.data.schema) {  // what was measured is there
      auto complete = *config.data.schema;
      for (auto& column : complete.columns) column.low = -2, column.high = 2;
      config.data.schema = std::make_shared<const Schema>(std::move(complete));
    }
    for (const bool with : {false, true}) {
      Dataset data;
      data.features = pixels;
      data.values.assign(agents * m * pixels, records.others);
      data.labels.assign(agents * m, 0.0F);
      for (std::size_t i = 0; i < agents; ++i)
        for (std::size_t j = 0; j < pixels && records.victim.value_or(i) == i; ++j)
          data.values[i * m * pixels + j] = (with ? kFar : -kFar) * static_cast<float>(1 + j);
      Sources sources;
      sources.data = {.train = std::make_shared<const Dataset>(std::move(data)),
                      .test = nullptr,
                      .source = "the worst",
                      .sizes = records.sizes};
      sources.model = records.model ? records.model : std::make_shared<const FeatureModel>(1);
      parts[with] = assemble(config, std::move(sources));
      setups.push_back(algorithm_setup(parts[with], pool));
    }
  }

  std::uint32_t rounds() const { return parts[0].config.algorithm.rounds; }
  double certified(std::size_t agent = 0) const {
    return parts[0].privacy->of(agent).interval(rounds())->upper;
  }

  ThreadPool pool{1};
  RunParts parts[2];                   // without and with
  std::vector<AlgorithmSetup> setups;  // the same
  Rows X;
};

// What one release of an agent says, if it is made as is promised.
WorstCase promised(const BatchSampler& sampler, double sigma, double tau) {
  AuditSetting setting{.sampler = sampler, .claim = std::nullopt};
  setting.clip = {Clip::Kind::smooth, tau};
  setting.sigma = sigma;
  return WorstCase(setting);
}

struct Scores {
  std::vector<double> of[2];  // without and with the canary
};

// The figures are those of docs/audit.md.
void expect_tight(const Scores& scores, double certified) {
  const auto bound = epsilon_lower_bound(scores.of[1], scores.of[0], kDelta, kAuditConfidence);
  EXPECT_LT(bound.epsilon, certified);
  EXPECT_GT(bound.epsilon, 0.5 * certified);
}

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

constexpr std::size_t kMany = 400, kRecords = 4;
constexpr double kUnit = 1.0 / kRecords;  // tau / b of a full batch

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
Scores eavesdrop(Worst& worst, const Eavesdropper& by, std::uint32_t runs,
                 const std::array<double, 2>& known) {
  const auto& privacy = *worst.parts[0].privacy;
  const auto& pairs = privacy.pairs()->pairs;
  const double shared = privacy.pair_sigma();
  const auto one = promised(worst.parts[0].sampler(), privacy.sigma(), 1);
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

// A record's gradient turns around as soon as agents have moved: what it has in two of them is
// longest, (2 - beta) times as long as in one, if each of them is clipped by itself.
class TurningModel final : public Model {
 public:
  std::size_t dim() const override { return 1; }
  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    if (!gradient.empty()) gradient[0] = (x[0] == 0 ? 1 : -1) * double{sample.values[0]};
    return 0;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }
};

constexpr double kBeta = 0.02;
double sign_in(std::uint32_t round) { return round == 1 ? 1 : -1; }  // of the canary's term
double kept_in(std::uint32_t round) { return round == 1 ? 0 : 1 - kBeta; }

// What is sent is V and X. From those of two rounds a neighbour who hears everybody has what an
// agent added to V, which is what M moved by, and so the release.
TEST(AttackOnRecursiveMomentum, OnTheMessagesComesNearTheEpsilonOfOneVectorOfARecord) {
  for (const Keys& sampling :
       {Keys{}, Keys{"algorithm.batch=3", "privacy.sampler=poisson", "privacy.epsilon=4"}}) {
    Keys keys = {"algorithm.name=motef-vr", concat("algorithm.momentum=", kBeta),
                 "network.graph=ring", "algorithm.rounds=2", "privacy.epsilon=2.5"};
    keys.insert(keys.end(), sampling.begin(), sampling.end());
    Worst worst(kMany, kRecords, keys, {.model = std::make_shared<const TurningModel>()});
    const auto& parts = worst.parts[0];
    const double gamma = parts.config.algorithm.consensus, eta = parts.config.algorithm.step;
    const auto& W = parts.network->mixing.weights;
    const auto gap = [&](const std::vector<double>& sent, std::size_t i) {
      double sum = -sent[i];
      for (const auto& [j, weight] : W.row(i)) sum += weight * sent[j];
      return sum;
    };
    const auto one = promised(parts.sampler(), parts.sigma(), 1);
    Scores scores;
    for (const bool with : {false, true})
      for (std::size_t run = 0; run < 400; ++run) {
        auto setup = worst.setups[with];
        setup.gradients.seed = 2 * run + (with ? 1 : 0);
        const auto algorithm = worst.parts[with].make(setup);
        std::vector<double> X(kMany, 0.0), V = X, M = X, score = X;
        for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
          algorithm->step(round);
          const auto X_before = X, V_before = V;
          for (std::size_t i = 0; i < kMany; ++i) {
            X[i] = algorithm->iterates().row(i)[0];
            V[i] = (X_before[i] + gamma * gap(X_before, i) - X[i]) / eta;
            const double moved = V[i] - V_before[i] - gamma * gap(V_before, i);
            const double released = M[i] + moved - kept_in(round) * M[i];
            M[i] += moved;
            score[i] += one.score(sign_in(round) * released);
          }
        }
        scores.of[with].insert(scores.of[with].end(), score.begin(), score.end());
      }
    expect_tight(scores, worst.certified());
  }
}

// The same recursion under a trusted aggregation: who reads x has v, with noise that was added
// once, and one record moves the mean of all agents.
TEST(AttackOnRecursiveMomentum, OnTheAggregateComesNearTheCentralEpsilon) {
  constexpr std::size_t kAgents = 2;
  Worst worst(kAgents, kRecords,
              {"algorithm.name=ddp-srm", concat("algorithm.momentum=", kBeta), "algorithm.rounds=2",
               "privacy.epsilon=2.5"},
              {.victim = 0, .model = std::make_shared<const TurningModel>()});
  const auto& parts = worst.parts[0];
  const double eta = parts.config.algorithm.step;
  const auto one = promised(parts.sampler(), kAgents * parts.sigma(), 1);
  Scores scores;
  for (const bool with : {false, true})
    for (std::size_t run = 0; run < 100'000; ++run) {
      auto setup = worst.setups[with];
      setup.gradients.seed = 2 * run + (with ? 1 : 0);
      const auto algorithm = worst.parts[with].make(setup);
      double x = 0, v = 0, score = 0;
      for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
        algorithm->step(round);
        const double now = algorithm->iterates().row(0)[0], before = v;
        v = (x - now) / eta;
        x = now;
        score += one.score(kAgents * sign_in(round) * (v - kept_in(round) * before));
      }
      scores.of[with].push_back(score);
    }
  expect_tight(scores, worst.certified());
}

// Three gradients for a message, two messages: what is sent is X, from which a neighbour who hears
// everybody finds the sum of the releases in between.
TEST(AttackOnLocalSteps, OnTheMessagesComesNearTheEpsilonOfAsManyReleases) {
  constexpr std::uint32_t kSteps = 3;
  Worst worst(kMany, kRecords,
              {"algorithm.name=lt-admm", concat("algorithm.local_steps=", kSteps),
               "network.graph=ring", "algorithm.rounds=6", "privacy.epsilon=2.5"});
  const auto& parts = worst.parts[0];
  const double gamma = parts.config.algorithm.consensus, eta = parts.config.algorithm.step;
  const auto& W = parts.network->mixing.weights;
  const double sigma = parts.sigma();
  Scores scores;
  for (const bool with : {false, true})
    for (std::size_t run = 0; run < 250; ++run) {
      auto setup = worst.setups[with];
      setup.gradients.seed = 2 * run + (with ? 1 : 0);
      const auto algorithm = worst.parts[with].make(setup);
      std::vector<double> sent(kMany, 0.0), R = sent, Y = sent, score = sent;
      for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
        algorithm->step(round);
        if (round % kSteps != 0) continue;
        const auto before = sent;
        for (std::size_t i = 0; i < kMany; ++i) {
          sent[i] = double{static_cast<float>(algorithm->iterates().row(i)[0])};  // as it travels
          const double sum = (before[i] + kSteps * R[i] - sent[i]) / eta;
          score[i] += 2 * kUnit * sum / (sigma * sigma);
        }
        for (std::size_t i = 0; i < kMany; ++i) {
          double d = -sent[i];
          for (const auto& [j, weight] : W.row(i)) d += weight * sent[j];
          R[i] = gamma / kSteps * (d + Y[i] / 2);
          Y[i] += d;
        }
      }
      scores.of[with].insert(scores.of[with].end(), score.begin(), score.end());
    }
  expect_tight(scores, worst.certified());
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
