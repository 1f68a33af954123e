// SPDX-License-Identifier: Apache-2.0
// Agents with rates and budgets of their own, and rounds that differ.
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/train/trainer.hpp"
#include "temp_dir.hpp"
#include "train/ledgers.hpp"

namespace porter {
namespace {

using Keys = std::vector<std::string>;

Config three_agents(Keys more) {
  Keys keys = {"data.name=synthetic",    "network.agents=3",   "network.graph=complete",
               "algorithm.name=dp-dsgd", "algorithm.step=0.5", "algorithm.rounds=12",
               "algorithm.batch=4",      "run.threads=1"};
  keys.insert(keys.end(), more.begin(), more.end());
  return parse_config("", "", keys);
}

Rows trained_rows(const Config& config) {
  Trainer trainer(assemble(config));
  while (!trainer.finished()) trainer.step();
  return trainer.algorithm().iterates();
}

void expect_same_rows(const Rows& a, const Rows& b) {
  ASSERT_EQ(a.agents(), b.agents());
  for (std::size_t i = 0; i < a.agents(); ++i)
    EXPECT_TRUE(std::ranges::equal(a.row(i), b.row(i))) << "agent " << i;
}

const Keys kAgents = {"data.split=sizes:5,3,2", "data.weigh=agents"};

Keys joined_keys(Keys keys, const Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

TEST(AgentsCountAlike, TheMeanOfTheirMeansIsFollowed) {
  Trainer trainer(assemble(three_agents(
      joined_keys(kAgents, {"algorithm.name=dsgd", "algorithm.batch=full", "model.lambda=0"}))));
  const auto& parts = trainer.parts();
  const auto& train = *parts.data.train;
  const auto sizes = parts.own_sizes();
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_GT(sizes[0], sizes[1]);
  const std::size_t m = parts.facts.samples_per_agent;
  std::vector<double> expected(parts.start.size(), 0.0), mean = expected;
  for (std::size_t agent = 0; agent < 3; ++agent) {
    std::vector<double> gradient(expected.size(), 0.0);
    parts.model->evaluate(parts.start, train, agent * m, agent * m + sizes[agent], gradient);
    axpy(1.0 / (3 * static_cast<double>(sizes[agent])), gradient, mean);
  }
  expected = parts.start;
  axpy(-0.5, mean, expected);
  trainer.include_raw_metrics();
  // What is measured is what is followed.
  EXPECT_NEAR(trainer.evaluate().grad_norm_sq, squared_norm(mean), 1e-6 * squared_norm(mean));
  trainer.step();
  EXPECT_LT(squared_distance(mean_row(trainer.algorithm().iterates()), expected), 1e-20);
}

TEST(AgentsCountAlike, EachHasTheEpsilonOfItsOwnRate) {
  for (const char* sampler : {"fixed", "poisson"}) {
    const auto parts = assemble(three_agents(
        joined_keys(kAgents, {"privacy.sigma=1", concat("privacy.sampler=", sampler)})));
    const auto& privacy = *parts.privacy;
    ASSERT_TRUE(privacy.agents_differ());
    double largest = 0;
    for (std::uint32_t agent = 0; agent < 3; ++agent) {
      const auto m = parts.own_sizes()[agent];
      const BatchSampler own(parse_choice<Sampler>(sampler), m, 4);
      const double alone = privacy::epsilon(own.event(Adjacency::replace, 1, 1, 12), 1e-5).upper;
      EXPECT_EQ(privacy.of(agent).interval(12)->upper, alone);
      largest = std::max(largest, alone);
    }
    EXPECT_EQ(privacy.interval(12)->upper, largest);
    EXPECT_EQ(privacy.interval(12)->upper, privacy.of(2).interval(12)->upper);
    EXPECT_GE(*privacy.epsilon(5), privacy.of(2).interval(5)->upper);
    const auto statement = parse_statement(statement_json(privacy.statement(12)), "test");
    ASSERT_EQ(statement.agents.size(), 3U);
    EXPECT_EQ(statement.agents[1].records, parts.own_sizes()[1]);
    EXPECT_EQ(*statement.agents[2].epsilon, statement.epsilon->upper);
    EXPECT_LT(*statement.agents[0].epsilon, statement.epsilon->upper);
    EXPECT_EQ(statement.records, parts.own_sizes()[2]);
  }
}

// An agent's draws come from its own records, none of which is a place of nobody.
TEST(AgentsCountAlike, TheyDrawFromTheirOwn) {
  const auto parts = assemble(three_agents(joined_keys(kAgents, {"privacy.epsilon=1"})));
  ThreadPool pool(1);
  const auto setup = algorithm_setup(parts, pool);
  GradientEstimator gradients(setup.problem, setup.gradients, pool);
  for (std::uint32_t round = 1; round < 50; ++round)
    for (std::size_t agent = 0; agent < 3; ++agent) {
      const auto batch = gradients.draw_batch(agent, round);
      EXPECT_EQ(batch.size(), 4U);
      for (const auto index : batch) EXPECT_LT(index, parts.own_sizes()[agent]);
    }
}

TEST(AgentsCountAlike, IsRefusedWhereItCannotBe) {
  EXPECT_THROW(three_agents(joined_keys(kAgents, {"algorithm.name=soteriafl-svrg"})), Error);
  EXPECT_THROW(three_agents(joined_keys(kAgents, {"algorithm.name=ddp-srm"})), Error);
  EXPECT_THROW(three_agents(joined_keys(kAgents, {"algorithm.name=dp-sgd"})), Error);
  EXPECT_THROW(assemble(three_agents({"data.split=sizes:5000,1,1", "data.weigh=agents",
                                      "algorithm.name=dsgd", "algorithm.batch=100"})),
               Error);
}

TEST(Budgets, EqualOnesAreTheBudgetOfAll) {
  const auto one = three_agents({"privacy.epsilon=1"}),
             each = three_agents({"privacy.budgets=[1, 1, 1]"});
  expect_same_rows(trained_rows(one), trained_rows(each));
}

TEST(Budgets, EachAgentHasTheNoiseOfItsOwn) {
  const auto parts = assemble(three_agents({"privacy.budgets=[4, 1, 0.5]"}));
  const auto& privacy = *parts.privacy;
  const auto event = parts.sampler().event(Adjacency::replace, 1, 1, 12);
  for (std::uint32_t agent = 0; agent < 3; ++agent) {
    const auto& own = privacy.of(agent);
    const double budget = parts.config.privacy->budgets[agent];
    EXPECT_EQ(own.sigma(), calibrate_noise_multiplier(event, budget, 1e-5) / 4);
    EXPECT_LE(own.interval(12)->upper, budget);
    EXPECT_GT(own.interval(12)->upper, 0.99 * budget);
  }
  EXPECT_EQ(privacy.interval(12)->upper, privacy.of(0).interval(12)->upper);
  // The same normal variates, times each agent's own deviation.
  ThreadPool pool(1);
  const auto setup = algorithm_setup(parts, pool);
  auto without = setup.gradients, unit = without;
  without.plan = unit.plan = nullptr;
  without.noise_stddev = 0;
  unit.noise_stddev = 1;
  const auto estimate = [&](const GradientOptions& options) {
    Rows X(3, parts.facts.dim), G = X;
    GradientEstimator(setup.problem, options, pool).estimate(X, 3, G);
    return G;
  };
  const auto noised = estimate(setup.gradients), clean = estimate(without), one = estimate(unit);
  for (std::size_t agent = 0; agent < 3; ++agent)
    for (std::size_t j = 0; j < clean.dim(); ++j)
      EXPECT_NEAR(noised.row(agent)[j] - clean.row(agent)[j],
                  privacy.of(agent).sigma() * (one.row(agent)[j] - clean.row(agent)[j]), 1e-6);
}

TEST(Budgets, AreKeysOfTheRun) {
  const auto config = three_agents({"privacy.budgets=[4, 1, 0.5]"});
  const auto again = parse_config(to_toml(config), "again");
  EXPECT_EQ(again.privacy->budgets, config.privacy->budgets);
  EXPECT_EQ(again.privacy->epsilon, 4);
  EXPECT_EQ(run_id(again), run_id(config));
  EXPECT_NE(run_id(config), run_id(three_agents({"privacy.budgets=[4, 1, 0.6]"})));
  for (const char* bad : {"privacy.budgets=[1, 1]", "privacy.budgets=[1, 1, 0]",
                          "privacy.budgets=[1, 1, -1]", "privacy.budgets=3"})
    EXPECT_THROW(three_agents({bad}), Error) << bad;
  EXPECT_THROW(three_agents({"privacy.budgets=[1, 1, 1]", "privacy.epsilon=1"}), Error);
  EXPECT_THROW(three_agents({"privacy.budgets=[1, 1, 1]", "privacy.sigma=1"}), Error);
  EXPECT_THROW(three_agents({"privacy.budgets=[1, 1, 1]", "privacy.shape=pairwise"}), Error);
}

// The ledger of an agent has its own rate, noise and budget, and tells the statement's epsilon.
TEST(Budgets, LedgersAreEachAgentsOwn) {
  const TempDir dir;
  Trainer trainer(assemble(three_agents(
      {"privacy.budgets=[4, 1, 0.5]", "privacy.noise=secure", "privacy.phases=6x1,6x0.5"})));
  Ledgers ledgers;
  ledgers.open(dir.path(), trainer, false, 0);
  while (!trainer.finished()) {
    ledgers.charge(trainer, trainer.round() + 1);
    trainer.step();
  }
  const auto statement = trainer.privacy().statement(12);
  EXPECT_TRUE(statement.guaranteed);
  for (std::uint32_t agent = 0; agent < 3; ++agent) {
    const auto view =
        read_ledger(dir.path() / "ledger" / ("agent-" + std::to_string(agent) + ".ledger"));
    const auto& own = trainer.privacy().of(agent);
    EXPECT_EQ(view.header.epsilon, own.budget());
    ASSERT_EQ(view.phases.size(), 2U);
    EXPECT_EQ(view.phases[0].noise_stddev, own.sigma());
    EXPECT_EQ(view.phases[1].noise_stddev, own.sigma() * 0.5);
    std::vector<PrivacyEvent> events;
    for (const auto& phase : view.phases)
      events.push_back(BatchSampler(Sampler::fixed, view.header.records, phase.batch)
                           .secure_event(Adjacency::replace, phase.noise_stddev, view.header.clip,
                                         phase.charges));
    EXPECT_EQ(privacy::epsilon(events, secure_delta(1e-5)).upper, *statement.agents[agent].epsilon);
    EXPECT_LE(*statement.agents[agent].epsilon, own.budget());
  }
}

TEST(Phases, EqualOnesChangeNoBit) {
  const auto plain = three_agents({"privacy.epsilon=1"});
  const auto phased = three_agents({"privacy.epsilon=1", "privacy.phases=5x1,7x1"});
  expect_same_rows(trained_rows(plain), trained_rows(phased));
  EXPECT_EQ(assemble(plain).privacy->interval(12)->upper,
            assemble(phased).privacy->interval(12)->upper);
}

TEST(Phases, AreComposedAndKeepTheBudget) {
  const auto parts =
      assemble(three_agents({"privacy.epsilon=1", "privacy.phases=4x2,4x1x3,4x0.5"}));
  const auto& privacy = *parts.privacy;
  EXPECT_LE(privacy.interval(12)->upper, 1);
  EXPECT_GT(privacy.interval(12)->upper, 0.99);
  const auto event = [&](double noise, std::uint64_t steps) {
    return parts.sampler().event(Adjacency::replace, privacy.sigma() * noise, 1, steps);
  };
  EXPECT_EQ(privacy.interval(12)->upper,
            privacy::epsilon(std::vector{event(2, 4), event(1, 4), event(0.5, 4)}, 1e-5).upper);
  EXPECT_EQ(privacy.interval(6)->upper,
            privacy::epsilon(std::vector{event(2, 4), event(1, 2)}, 1e-5).upper);
  // More releases than rounds: more of the last phase.
  EXPECT_EQ(privacy.interval(14)->upper,
            privacy::epsilon(std::vector{event(2, 4), event(1, 4), event(0.5, 6)}, 1e-5).upper);
  double before = 0;
  for (std::uint64_t releases = 1; releases <= 12; ++releases) {
    const double now = *privacy.epsilon(releases);
    EXPECT_GE(now, privacy.interval(releases)->upper);
    EXPECT_GE(now, 0.999 * before);
    before = now;
  }
  const auto statement = parse_statement(statement_json(privacy.statement(12)), "test");
  ASSERT_EQ(statement.phases.size(), 3U);
  EXPECT_EQ(statement.phases[1].clip, 3);
  EXPECT_EQ(statement.phases[1].sigma, 3 * privacy.sigma());
}

// The clip of a round's phase, and noise that follows it.
TEST(Phases, ChangeClipAndNoiseAtTheirRound) {
  const auto parts =
      assemble(three_agents({"privacy.sigma=0.25", "privacy.phases=5x1,7x0.5x1e-3"}));
  ThreadPool pool(1);
  const auto setup = algorithm_setup(parts, pool);
  EXPECT_EQ(setup.gradients.noise_stddev, 0.25);
  const auto estimate = [&](const GradientOptions& options, std::uint32_t round) {
    Rows X(3, parts.facts.dim), G = X;
    GradientEstimator(setup.problem, options, pool).estimate(X, round, G);
    return G;
  };
  for (const std::uint32_t round : {5U, 6U}) {
    auto like = setup.gradients;
    like.plan = nullptr;
    like.clip.tau = round == 5 ? 1 : 1e-3;
    like.noise_stddev = round == 5 ? 0.25 : 0.25 * 0.5 * 1e-3;
    expect_same_rows(estimate(setup.gradients, round), estimate(like, round));
  }
}

TEST(Phases, AreRefusedWhereTheyCannotBe) {
  const auto refused = [](const Keys& keys) {
    EXPECT_THROW(three_agents(keys), Error) << keys.front();
  };
  refused({"privacy.phases=6x1"});                              // not all rounds
  refused({"privacy.phases=6x1,7x1"});                          // more
  refused({"privacy.phases=6x1,6x2", "privacy.noise=secure"});  // a later round would be cheaper
  refused({"privacy.phases=12x1", "privacy.calibration=paper"});
  refused({"privacy.phases=12x1", "privacy.shape=pairwise"});
  refused({"privacy.phases=12x1", "algorithm.name=ddp-srm"});
  EXPECT_NO_THROW(three_agents({"privacy.phases=6x1,6x2"}));
}

// A checkpoint in the middle of a phase goes on in it.
TEST(Phases, AResumedRunHasTheSameBits) {
  const auto config = three_agents({"privacy.budgets=[4, 1, 0.5]", "privacy.phases=5x1,7x0.5x2"});
  const auto whole = trained_rows(config);
  Trainer first(assemble(config));
  for (int i = 0; i < 7; ++i) first.step();
  const auto checkpoint = first.checkpoint();
  Trainer second(assemble(config));
  second.restore(checkpoint, "first");
  while (!second.finished()) second.step();
  expect_same_rows(whole, second.algorithm().iterates());
}

}  // namespace
}  // namespace porter
