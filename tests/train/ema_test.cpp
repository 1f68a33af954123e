// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "train/evaluator.hpp"
#include "trainer_test.hpp"

namespace porter {
namespace {

class EmaTest : public TrainerTest {
 protected:
  Config config(std::vector<std::string> overrides = {}) {
    overrides.insert(overrides.begin(), {"network.agents=3", "algorithm.rounds=12",
                                         "algorithm.step=0.3", "privacy.sigma=0.05"});
    return TrainerTest::config(std::move(overrides));
  }
};

// The weighted sum as it is written in the header, from iterates that are all kept.
std::vector<double> average_of(const std::vector<Rows>& iterates, double decay, std::size_t agent) {
  std::vector<double> sum(iterates[0].dim());
  double weights = 0;
  for (std::size_t s = 0; s < iterates.size(); ++s) {
    const double weight = std::pow(decay, static_cast<double>(iterates.size() - 1 - s));
    weights += weight;
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += weight * iterates[s].row(agent)[j];
  }
  for (double& value : sum) value /= weights;
  return sum;
}

TEST_F(EmaTest, IsTheWeightedMeanOfAllIteratesButTheStart) {
  for (const char* name : {"porter-dp", "soteriafl-sgd", "dp-sgd"})
    for (const double decay : {0.5, 0.9, 0.999}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << decay);
      Trainer trainer(
          assemble(config({concat("algorithm.name=", name), "algorithm.compressor=identity",
                           concat("run.ema=", decay)})));
      const auto& X = trainer.algorithm().iterates();
      EXPECT_EQ(trainer.averages().flat(), X.flat());  // the start, before the first round
      std::vector<Rows> iterates;
      while (!trainer.finished()) {
        trainer.step();
        iterates.push_back(X);
      }
      ASSERT_EQ(trainer.averages().agents(), X.agents());
      for (std::size_t agent = 0; agent < X.agents(); ++agent) {
        const auto expected = average_of(iterates, decay, agent);
        for (std::size_t j = 0; j < expected.size(); ++j)
          EXPECT_NEAR(trainer.averages().row(agent)[j], expected[j], 1e-12);
      }
    }
}

TEST_F(EmaTest, LeavesTheRunAsItIs) {
  for (const char* precision : {"double", "float"}) {
    const auto key = concat("run.precision=", precision);
    Trainer plain(assemble(config({key}))), averaged(assemble(config({key, "run.ema=0.9"})));
    train(plain);
    train(averaged);
    EXPECT_EQ(plain.algorithm().iterates().flat(), averaged.algorithm().iterates().flat());
    EXPECT_EQ(plain.now().previous->test_loss, averaged.now().previous->test_loss);
    EXPECT_EQ(plain.now().previous->epsilon, averaged.now().previous->epsilon);
    EXPECT_EQ(plain.averages().agents(), 0U);
    EXPECT_FALSE(plain.now().previous->ema_test_accuracy);
    plain.with_model([](const auto& model) { EXPECT_FALSE(model.contains("x_ema")); });
  }
}

TEST_F(EmaTest, IsMeasuredBesideTheLastIterateAndKeptInTheModel) {
  Trainer trainer(assemble(config({"run.ema=0.8"})));
  train(trainer);
  const auto& row = *trainer.now().previous;
  const auto mean = mean_row(trainer.averages());
  ThreadPool pool(1);
  const auto expected =
      evaluate_point(*trainer.parts().model, *trainer.parts().data.test, mean, false, pool);
  EXPECT_EQ(row.ema_test_loss, expected.loss);
  EXPECT_EQ(row.ema_test_accuracy, expected.accuracy);
  EXPECT_NE(row.ema_test_loss, row.test_loss);
  EXPECT_LE(row.ema_agent_accuracy_worst, row.ema_agent_accuracy_mean);
  trainer.with_model([&](const auto& model) {
    const auto kept = model.at("x_ema").parts.at(0);
    EXPECT_EQ(std::vector<double>(kept.begin(), kept.end()), mean);
  });
}

TEST_F(EmaTest, GoesOnFromACheckpointBitForBit) {
  const auto with_average = config({"run.ema=0.9"});
  Trainer straight(assemble(with_average)), first(assemble(with_average)),
      second(assemble(with_average));
  train(straight);
  for (int round = 0; round < 5; ++round) first.step();
  save_checkpoint(dir_ / "checkpoint.npz", first.checkpoint());
  second.restore(load_checkpoint(dir_ / "checkpoint.npz"), "checkpoint");
  while (!second.finished()) second.step();
  EXPECT_EQ(second.averages().flat(), straight.averages().flat());
}

// New columns come last, so the row of an older file has fewer.
TEST_F(EmaTest, AnOlderCheckpointsRowHasFewerColumns) {
  Trainer trainer(assemble(config()));
  trainer.evaluate();
  auto members = to_npz(trainer.checkpoint());
  auto& row = members.at("row_previous");
  row.values.resize(row.values.size() - 6);
  row.shape = {row.values.size()};
  const auto read = to_checkpoint(members, "old").now.previous;
  ASSERT_TRUE(read);
  EXPECT_EQ(read->loss, trainer.now().previous->loss);
  EXPECT_FALSE(read->ema_test_accuracy);
}

TEST_F(EmaTest, RefusesWhatIsNoDecayAndWhatHasNoIterates) {
  for (const char* bad : {"run.ema=0", "run.ema=1", "run.ema=-0.5", "run.ema=nan"})
    EXPECT_THROW(config({bad}), Error) << bad;
  EXPECT_THROW(config({"run.ema=0.9", "run.engine=cuda"}), Error);
}

}  // namespace
}  // namespace porter
