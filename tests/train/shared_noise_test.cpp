// SPDX-License-Identifier: Apache-2.0
#include "train/shared_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "porter/privacy/ledger.hpp"
#include "porter/train/train.hpp"
#include "privacy/secure_noise.hpp"
#include "says.hpp"
#include "small_matrix.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

// Six agents of twenty records whose noise neighbours share.
class SharedNoiseTest : public testing::Test {
 protected:
  SharedNoiseTest() { write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false))); }

  Config config(std::vector<std::string> overrides = {}) const {
    overrides.insert(
        overrides.begin(),
        {"data.train=" + (dir_ / "train.csv").string(), "data.classes=[0, 1]", "data.features=6",
         "network.agents=6", "network.graph=complete", "algorithm.name=dp-dsgd",
         "algorithm.compressor=identity", "algorithm.rounds=30", "algorithm.step=0.1",
         "privacy.epsilon=2", "privacy.delta=1e-4", "privacy.shape=pairwise", "run.threads=1"});
    return parse_config("", "test", overrides);
  }
  std::string refusal(const std::vector<std::string>& overrides) const {
    return what_fails([&] { assemble(config(overrides)); });
  }

  TempDir dir_;
};

TEST_F(SharedNoiseTest, IsWorthWhatIndependentNoiseIsAndLessOfItIsLeftInTheAverage) {
  const auto independent = assemble(config({"privacy.shape=independent"}));
  for (const char* shape : {"pairwise", "optimal"})
    for (const std::size_t t : {0, 1, 2, 5}) {
      SCOPED_TRACE(std::string(shape) + " " + std::to_string(t));
      const auto parts = assemble(config(
          {std::string("privacy.shape=") + shape, "privacy.colluders=" + std::to_string(t)}));
      const auto& privacy = *parts.privacy;
      EXPECT_EQ(privacy.sigma(), independent.privacy->sigma());
      EXPECT_EQ(privacy.interval(30)->upper, independent.privacy->interval(30)->upper);
      if (!privacy.pairs()) {  // optimal, where all others collude
        EXPECT_EQ(t, 5U);
        EXPECT_EQ(privacy.own_sigma(), privacy.sigma());
        continue;
      }
      const double gain =
          pair_worth(*privacy.pairs(), privacy.pair_sigma() / privacy.own_sigma(), t).gain;
      EXPECT_GE(gain * privacy.own_sigma(), privacy.sigma());
      EXPECT_NEAR(gain * privacy.own_sigma(), privacy.sigma(), 1e-9);
      EXPECT_EQ(gain > 1, t < 5);
    }
}

TEST_F(SharedNoiseTest, TheStatementSaysAgainstWhom) {
  Trainer trainer(assemble(config({"privacy.colluders=2"})));
  const auto statement = trainer.privacy().statement(30);
  ASSERT_TRUE(statement.shared.has_value());
  EXPECT_EQ(statement.shared->colluders, 2U);
  EXPECT_EQ(statement.sigma, trainer.privacy().sigma());
  EXPECT_TRUE(statement.shared->enumerated);
  EXPECT_TRUE(says(statement.sentence, "with up to 2 colluding agents, not against all others"));
  EXPECT_TRUE(says(statement.not_covered.front(), "more than 2 agents"));
  EXPECT_FALSE(statement.guaranteed);  // it is simulated
  const auto without = assemble(config({"privacy.shape=independent"})).privacy->statement(30);
  EXPECT_FALSE(without.shared.has_value());
  EXPECT_FALSE(says(without.sentence, "collud"));
}

TEST_F(SharedNoiseTest, InterruptedAndResumedIsBitIdenticalForAnyNumberOfThreads) {
  for (const char* name :
       {"dp-dsgd", "sweep-led", "porter-sweep", "dsgt", "led", "porter-dp", "motef-vr"}) {
    SCOPED_TRACE(name);
    std::vector<std::string> overrides = {std::string("algorithm.name=") + name,
                                          "algorithm.clip=smooth:1"};
    if (std::string(name).find("sweep") != std::string::npos)
      overrides.push_back("algorithm.compressor=random_k:0.5");
    Trainer straight(assemble(config(overrides)));
    while (!straight.finished()) straight.step();
    auto threads = overrides;
    threads.push_back("run.threads=3");
    const auto broken = dir_ / name;
    {
      Trainer trainer(assemble(config(threads)));
      RunFolder folder(broken, trainer, ExistingRun::refuse);
      train_in_folder(trainer, folder, {{.stop_requested = [&] { return trainer.round() >= 7; }}});
    }
    Trainer resumed(assemble(config(overrides)));
    RunFolder folder(broken, resumed, ExistingRun::resume);
    folder.restore(resumed);
    EXPECT_EQ(resumed.round(), 7U);
    while (!resumed.finished()) resumed.step();
    EXPECT_TRUE(straight.algorithm().iterates() == resumed.algorithm().iterates());
    auto alone = overrides;
    alone.push_back("privacy.shape=independent");
    Trainer other(assemble(config(alone)));
    while (!other.finished()) other.step();
    EXPECT_FALSE(straight.algorithm().iterates() == other.algorithm().iterates());
  }
}

TEST_F(SharedNoiseTest, ThatIsSecretIsPromisedAndChargedForWhatItIsWorth) {
  const auto secret = config({"privacy.noise=secure", "privacy.shape=optimal"});
  const auto path = dir_ / "secret";
  Trainer trainer(assemble(secret));
  EXPECT_LT(trainer.privacy().own_sigma(), trainer.privacy().sigma());
  EXPECT_EQ(trainer.privacy().most_releases(), 30U);
  EXPECT_EQ(train_in(path, trainer), TrainStatus::finished);
  const auto json = nlohmann::json::parse(read_file(path / "privacy.json"));
  EXPECT_LE(json["guarantee"]["epsilon"], 2);
  EXPECT_TRUE(says(json["against"], "up to 1 colluding agents"));
  EXPECT_EQ(json["shared_noise"]["shape"], "optimal");
  EXPECT_EQ(read_ledger(path / "ledger" / "agent-2.ledger").header.noise_stddev,
            trainer.privacy().sigma());
  // The sampler's distance is that of all noise of a round: 6 agents and 15 pairs.
  const auto alone = assemble(config({"privacy.noise=secure", "privacy.shape=independent"}));
  EXPECT_NEAR(trainer.privacy().secure()->statistical_distance() /
                  alone.privacy->secure()->statistical_distance(),
              21, 1e-9);
}

// Its gradients are not the estimator's, but what is secret and shared is drawn all the same: two
// runs differ by noise, most of which is gone in the sum over agents.
TEST_F(SharedNoiseTest, ThatIsSecretIsThereForMotefVr) {
  const auto secret = config({"algorithm.name=motef-vr", "algorithm.clip=smooth:1",
                              "algorithm.consensus=0.3", "algorithm.batch=full",
                              "privacy.noise=secure", "privacy.pair_ratio=64", "run.threads=3"});
  Trainer trainer(assemble(secret)), again(assemble(secret));
  EXPECT_EQ(train_in(dir_ / "secret", trainer), TrainStatus::finished);
  const auto json = nlohmann::json::parse(read_file(dir_ / "secret" / "privacy.json"));
  EXPECT_LE(json["guarantee"]["epsilon"], 2);
  EXPECT_EQ(read_ledger(dir_ / "secret" / "ledger" / "agent-2.ledger").charges, 30U);
  while (!again.finished()) again.step();  // the same batches, and noise of its own
  const Rows &a = trainer.algorithm().iterates(), &b = again.algorithm().iterates();
  std::vector<double> sum(a.dim());
  double apart = 0;
  for (std::size_t i = 0; i < a.agents(); ++i) {
    apart += squared_distance(a.row(i), b.row(i));
    axpy(1, a.row(i), sum);
    axpy(-1, b.row(i), sum);
  }
  EXPECT_GT(apart, 0);
  EXPECT_LT(squared_norm(sum), 0.05 * apart);  // more than that of noise of their own
}

TEST_F(SharedNoiseTest, IsRefusedByNameWhereItCannotBeHad) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"algorithm.name=porter-dp", "algorithm.compressor=random_k:0.5"},
       "shape: \"pairwise\" is for neighbours that mix the same coordinates"},
      {{"algorithm.name=choco-sgd", "algorithm.clip=smooth:1", "algorithm.compressor=top_k:0.5"},
       "found choco-sgd with \"top_k:0.5\" and mask = \"own\""},
      {{"algorithm.name=ldp-sgd"}, "found ldp-sgd"},
      {{"algorithm.name=dp-sgd"}, "found dp-sgd"},
      {{"privacy.colluders=6"}, "colluders: expected fewer than the 6 agents, found 6"},
      {{"privacy.shape=independent", "privacy.colluders=1"}, "colluders: needs shape"},
      {{"privacy.shape=optimal", "privacy.pair_ratio=2"}, "pair_ratio: needs shape = \"pairwise\""},
      {{"privacy.pair_ratio=0"}, "pair_ratio: expected a number above 0, up to 1024, found 0"},
      {{"privacy.pair_ratio=1e9"}, "pair_ratio: expected"},
      {{"privacy.shape=chained"}, "shape: expected one of independent, pairwise"},
      {{"network.dropout=0.1"}, "is for agents that are all there"},
      {{"run.engine=mpi", "privacy.noise=secure"}, "needs run.engine = \"simulate\", or agents"},
  };
  for (const auto& [overrides, expected] : cases)
    EXPECT_TRUE(says(refusal(overrides), expected)) << expected << "\n" << refusal(overrides);
}

TEST_F(SharedNoiseTest, ThatHelpsNobodyIsNoted) {
  const auto notes = [&](const std::vector<std::string>& overrides) {
    std::string all;
    for (const auto& note : assemble(config(overrides)).facts.notes) all += note + "\n";
    return all;
  };
  EXPECT_TRUE(
      says(notes({"network.graph=ring", "privacy.colluders=2"}), "protects nobody here: 2"));
  EXPECT_TRUE(says(notes({"network.graph=ring", "privacy.colluders=2", "privacy.shape=optimal"}),
                   "does not pay here"));
  EXPECT_FALSE(says(notes({}), "privacy.shape"));
}

TEST_F(SharedNoiseTest, ItsCostIsTheTraceOfTheMixedCovariance) {
  for (const char* graph : {"ring", "star", "erdos-renyi:0.6", "complete"}) {
    const auto g = make_graph(graph, 7, 4);
    const Network network{g, make_mixing("metropolis", g)};
    const SmallMatrix W(7, 7, network.mixing.weights.dense());
    SmallMatrix L(7, 7);
    for (const auto& [i, j] : g.edges()) L.add_edge(i, j, 1);
    auto P = W;
    for (const std::uint32_t steps : {1U, 2U, 3U}) {
      const auto cost = noise_after_gossip(network, steps);
      EXPECT_NEAR(cost.own, (P.transpose() * P).trace() / 7, 1e-12);
      EXPECT_NEAR(cost.shared, (P.transpose() * L * P).trace() / 7, 1e-12);
      P = P * W;
    }
  }
}

}  // namespace
}  // namespace porter
