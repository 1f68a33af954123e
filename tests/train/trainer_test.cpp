// SPDX-License-Identifier: Apache-2.0
// A run: what it computes, what it is told, how it ends.
#include "trainer_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/vector_math.hpp"
#include "io/file.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/io/npy.hpp"
#include "porter/train/link.hpp"
#include "porter/train/train.hpp"
#include "toy_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Without the card, which a model that the caller brings has not.
std::string parameter_bytes(Trainer& trainer) {
  std::string bytes;
  trainer.with_model([&](auto model) {
    model.erase("about");
    bytes = encode_npz(model);
  });
  return bytes;
}

TEST_F(TrainerTest, RoundZeroHoldsTheStart) {
  Trainer trainer(
      assemble(config({"algorithm.start=zeros", "model.lambda=0", "privacy.sigma=0.05"})));
  std::vector<MetricsRow> rows;
  EXPECT_EQ(
      train(trainer, {{.after_evaluation = [&](const MetricsRow& row) { rows.push_back(row); }}}),
      TrainStatus::finished);
  EXPECT_EQ(rows.front().round, 0U);
  EXPECT_NEAR(rows.front().loss, std::log(2.0), 1e-12);
  EXPECT_EQ(rows.front().consensus_error, 0);
  EXPECT_EQ(rows.front().bits_per_agent, 0);
  EXPECT_TRUE(rows.front().test_accuracy);
  EXPECT_EQ(rows.back().round, 60U);
  EXPECT_LT(rows.back().loss, rows.front().loss);
  EXPECT_TRUE(rows.back().epsilon);
}

TEST_F(TrainerTest, UtilityIsTheRunningMeanWhenEveryRoundIsEvaluated) {
  Trainer trainer(assemble(config({"run.evaluate=every:1"})));
  double sum = 0;
  train(trainer, {{.after_evaluation = [&](const MetricsRow& row) {
          sum += row.grad_norm_sq;
          EXPECT_NEAR(row.utility, sum / (row.round + 1), 1e-12);
        }}});
}

TEST_F(TrainerTest, SameSeedSameModelForAnyNumberOfThreads) {
  Trainer one(assemble(config())), two(assemble(config({"run.threads=2"}))),
      other(assemble(config({"run.seed=2"})));
  for (auto* trainer : {&one, &two, &other}) train(*trainer);
  EXPECT_EQ(model_bytes(one), model_bytes(two));
  EXPECT_NE(model_bytes(one), model_bytes(other));
}

TEST_F(TrainerTest, XOutIsTheIterateOfItsRoundAndAgent) {
  Trainer trainer(assemble(config()));
  const auto facts = trainer.facts();
  ASSERT_GE(facts.output_round, 1U);
  ASSERT_LE(facts.output_round, 60U);
  std::vector<double> expected;
  train(trainer, {{.after_round = [&] {
          const auto row = trainer.algorithm().iterates().row(facts.output_agent);
          if (trainer.round() == facts.output_round) expected.assign(row.begin(), row.end());
        }}});
  EXPECT_EQ(decode_npz(model_bytes(trainer), "memory").at("x_out").values, expected);
}

TEST_F(TrainerTest, DivergenceStopsAndKeepsTheMetrics) {
  Trainer trainer(assemble(config({"algorithm.name=dsgd", "algorithm.compressor=identity",
                                   "algorithm.step=1e200", "run.evaluate=every:1"})));
  RunFolder folder(dir_ / "diverged", trainer, ExistingRun::refuse);
  EXPECT_EQ(train_in_folder(trainer, folder, {}), TrainStatus::diverged);
  EXPECT_LT(trainer.round(), 60U);
  EXPECT_EQ(RunFolder::recorded_status(dir_ / "diverged"), TrainStatus::diverged);
  EXPECT_FALSE(fs::exists(dir_ / "diverged" / "model.npz"));
  EXPECT_NE(read_file(dir_ / "diverged" / "metrics.csv").find("\n0,"), std::string::npos);
}

// The average of the agents is preserved by gossip however far they are apart, so it says nothing
// of them: a consensus step that is too large for the compressor drives them off.
TEST_F(TrainerTest, AgentsThatAreLostAreDivergenceThoughTheAverageIsFine) {
  for (const char* name : {"porter-gc", "beer"}) {  // with clipping and without
    SCOPED_TRACE(name);
    Trainer trainer(assemble(config({std::string("algorithm.name=") + name, "algorithm.consensus=1",
                                     "algorithm.step=0.02", "algorithm.compressor=random_k:k=1",
                                     "algorithm.rounds=3000"})));
    std::optional<MetricsRow> last;
    RunFolder folder(dir_ / name, trainer, ExistingRun::refuse);
    EXPECT_EQ(train_in_folder(trainer, folder,
                              {{.after_evaluation = [&](const MetricsRow& row) { last = row; }}}),
              TrainStatus::diverged);
    EXPECT_LT(last->loss, 100);  // of the average
    EXPECT_EQ(RunFolder::recorded_status(dir_ / name), TrainStatus::diverged);
    EXPECT_FALSE(fs::exists(dir_ / name / "model.npz"));
  }
}

// The agents' distance tells long before a message is too long to be sent: without clipping the
// one may be 10^6, the other 10^12 in units of the start.
TEST_F(TrainerTest, AgentsThatAreLostAreNoticedAtTheNextEvaluation) {
  Trainer trainer(assemble(config({"algorithm.name=beer", "algorithm.consensus=1",
                                   "algorithm.step=0.02", "algorithm.compressor=random_k:k=1",
                                   "algorithm.rounds=3000", "run.evaluate=every:1"})));
  double error = 0;
  RunFolder folder(dir_ / "run", trainer, ExistingRun::refuse);
  EXPECT_EQ(
      train_in_folder(
          trainer, folder,
          {{.after_evaluation = [&](const MetricsRow& row) { error = row.consensus_error; }}}),
      TrainStatus::diverged);
  EXPECT_GT(error, 1e11);
  EXPECT_LT(error, 1e15);
}

TEST_F(TrainerTest, ImpossibleCombinationsNameTheKey) {
  const struct {
    std::vector<std::string> overrides;
    const char* expected;
  } cases[] = {
      {{"algorithm.batch=31"}, "algorithm.batch: expected at most the 30 samples"},
      {{"network.agents=121"}, "network.agents"},
      {{"algorithm.compressor=random_k:k=9"}, "algorithm.compressor"},
      {{"network.graph=hypercube", "network.agents=3"}, "network.graph"},
      {{"network.mixing=average"}, "network.mixing"},
      {{"algorithm.start=ones"}, "algorithm.start"},
      {{"data.split=random"}, "data.split"},
      {{"data.scale=huge"}, "scale"},
      {{"algorithm.compressor=qsgd:2"}, "algorithm.compressor: porter-dp needs a contraction"},
      {{"model.name=linear", "data.bias=false", "algorithm.start=file:none.npy"}, "none.npy"},
  };
  for (const auto& [overrides, expected] : cases) {
    try {
      Trainer trainer(assemble(config(overrides)));
      ADD_FAILURE() << overrides[0] << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos)
          << overrides[0] << " gives: " << error.what();
    }
  }
}

TEST_F(TrainerTest, AMethodWithoutAGraphHasNone) {
  const auto alone =
      assemble(config({"algorithm.name=dp-sgd-alone", "algorithm.compressor=identity",
                       "network.graph=file:nowhere", "privacy.sigma=0.1"}));
  EXPECT_EQ(alone.network, nullptr);
  EXPECT_FALSE(alone.alpha());
  const auto gossip = assemble(config({"privacy.sigma=0.1"}));
  ASSERT_NE(gossip.network, nullptr);
  EXPECT_EQ(gossip.alpha(), gossip.network->mixing.alpha);
}

// What a program brings is what a config would have named: the same bits.
TEST_F(TrainerTest, WhatTheCallerBringsStandsInForWhatTheConfigNames) {
  const auto named = config();
  Trainer straight(assemble(named));
  const auto& data = *straight.parts().data.train;
  std::vector<Dataset> agents;
  for (std::uint32_t agent = 0; agent < 4; ++agent) {
    std::vector<std::uint32_t> rows(30);
    std::iota(rows.begin(), rows.end(), 30 * agent);
    agents.push_back(select_rows(data, rows));
  }
  auto graph = make_graph("ring", 4, 1);
  auto mixing = make_mixing("fdla", graph);
  auto other = config({"data.train=/nowhere.csv", "model.lambda=7", "network.graph=complete",
                       "network.mixing=metropolis", "algorithm.compressor=identity",
                       "algorithm.start=zeros"});
  const auto* method = &find_algorithm("porter-dp");
  Trainer brought(assemble(
      other, {.data = join_agents(agents, straight.parts().data.test),
              .model = straight.parts().model,
              .graph = std::move(graph),
              .mixing = std::move(mixing),
              .start = straight.parts().start,
              .compressor = straight.parts().compressor,
              .algorithm = [=](const AlgorithmSetup& setup) { return method->make(setup); }}));
  train(straight);
  train(brought);
  EXPECT_EQ(parameter_bytes(straight), parameter_bytes(brought));
}

TEST_F(TrainerTest, WhatTheCallerBringsHasToFit) {
  const auto refusal = [&](Sources sources) {
    try {
      assemble(config(), std::move(sources));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal({.graph = make_graph("ring", 5, 1)}).find("5 nodes"), std::string::npos);
  EXPECT_NE(refusal({.start = {1, 2}}).find("2 entries"), std::string::npos);
  const std::vector<Dataset> three(3, toy_data(40, 6, 2, false));
  EXPECT_NE(refusal({.data = join_agents(three)}).find("data of 3 agents"), std::string::npos);
  EXPECT_NO_THROW(assemble(config({"algorithm.name=dp-sgd", "algorithm.compressor=identity"}),
                           {.data = join_agents(three)}));
  std::vector<Dataset> unlike = {toy_data(10, 6, 2, false), toy_data(11, 6, 2, false)};
  EXPECT_THROW(join_agents(unlike), Error);
  unlike[1] = toy_data(10, 6, 2, true);
  EXPECT_THROW(join_agents(unlike), Error);
  unlike[0] = toy_data(10, 6, 2, true);
  const auto joined = *join_agents(unlike).train;
  ASSERT_EQ(joined.rows(), 20U);
  for (std::size_t row = 0; row < 20; ++row) {
    const auto a = joined[row], b = unlike[row / 10][row % 10];
    EXPECT_TRUE(std::ranges::equal(a.values, b.values) && std::ranges::equal(a.columns, b.columns));
    EXPECT_EQ(a.label, b.label);
  }
}

// A shift follows from the variance of what is sent, where something may be compressed.
TEST_F(TrainerTest, AMethodThatCompressesNothingShiftsByAllOfIt) {
  const auto shift = [&](const std::string& algorithm) {
    return assemble(config({"algorithm.name=" + algorithm, "algorithm.compressor=identity"}))
        .facts.compression.shift;
  };
  EXPECT_EQ(shift("clip21-sgd2m"), 1);
  EXPECT_EQ(shift("soteriafl-sgd"), std::sqrt(0.5));
}

// Records that weigh nothing leave everybody at the start, and a weight of 1 for all is none.
TEST_F(TrainerTest, WeightsReachEveryAlgorithm) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    std::vector<std::string> keys = {"algorithm.name=" + info.name, "algorithm.rounds=9",
                                     "algorithm.start=normal:0.3", "run.evaluate=end"};
    if (!info.compresses) keys.push_back("algorithm.compressor=identity");
    if (info.noise != AlgorithmInfo::Noise::never)
      keys.insert(keys.end(),
                  {"algorithm.clip=smooth:1", "privacy.calibration=sigma", "privacy.sigma=0"});
    const auto end = [&](std::optional<float> weight) {
      std::vector<Dataset> agents(4, toy_data(30, 6, 2, false));
      for (auto& data : agents)
        if (weight) data.weights.assign(30, *weight);
      Trainer trainer(assemble(config(keys), {.data = join_agents(agents)}));
      const auto start = trainer.parts().start;
      train(trainer);
      return std::pair(mean_row(trainer.algorithm().iterates()), start);
    };
    const auto [still, start] = end(0.0F);
    EXPECT_LE(squared_distance(still, start), 1e-12);  // a server sends x in float
    EXPECT_EQ(end(1.0F).first, end(std::nullopt).first);
    EXPECT_GT(squared_distance(end(0.5F).first, start), 1e-6);
  }
}

TEST_F(TrainerTest, ItsLoaderTellsHowMuchOfAFileHasBeenRead) {
  std::map<std::string, double> shares;
  const auto reading = [&](const std::string& file, double share) { shares[file] = share; };
  const auto one = config();
  assemble(one, {.reading = reading});
  EXPECT_EQ(shares, (std::map<std::string, double>{{one.data.train, 1}, {one.data.test, 1}}));
}

// A start that is made for a perceptron does not fit a model of one's own.
TEST_F(TrainerTest, AStartLayerByLayerNeedsTheModelThatTheConfigNames) {
  const auto straight = assemble(config());
  try {
    assemble(config({"model.name=mlp", "algorithm.start=numpy:1:7"}), {.model = straight.model});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("algorithm.start: "), std::string::npos)
        << error.what();
  }
}

// What the ranks of a job compare before they begin.
TEST_F(TrainerTest, RanksCompareWhichRecordsAreVoid) {
  struct Alone final : MpiSession {
    std::uint32_t rank() const override { return 0; }
    std::uint32_t size() const override { return 1; }
    std::unique_ptr<Transport> make_transport(const Hosting&, std::size_t) override { return {}; }
    Rows gather_rows(const Hosting&, const Rows& hosted) override { return hosted; }
    std::vector<Payload> all_gather(std::span<const std::byte> bytes) override {
      told.insert(told.end(), bytes.begin(), bytes.end());
      return {Payload(bytes.begin(), bytes.end())};
    }
    Payload told;
  };
  auto parts = assemble(config());
  Alone all, but_one;
  mpi_link(all, parts, {});
  auto rows = *parts.data.train;
  rows.voids.assign(rows.rows(), 0);
  rows.voids[3] = 1;
  parts.data.train = std::make_shared<const Dataset>(rows);
  mpi_link(but_one, parts, {});
  EXPECT_NE(all.told, but_one.told);
}

}  // namespace
}  // namespace porter
