// SPDX-License-Identifier: Apache-2.0
// Steps that nobody has tuned.
#include <gtest/gtest.h>

#include <cmath>

#include "core/vector_math.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

Config untuned(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"algorithm.step=auto", "algorithm.consensus=auto",
                                       "algorithm.name=porter-gc", "algorithm.rounds=300"});
  return parse_config("", "test", overrides);
}

RunData toy_run(std::size_t classes, std::size_t agents) {
  std::vector<Dataset> parts;
  for (std::uint32_t i = 0; i < agents; ++i) parts.push_back(toy_data(60, 20, classes, false, i));
  return join_agents(parts);
}

RunParts toy_parts(std::vector<std::string> overrides, std::size_t classes = 2,
                   std::size_t agents = 8) {
  overrides.push_back("network.agents=" + std::to_string(agents));
  return assemble(untuned(overrides), {.data = toy_run(classes, agents)});
}

// Where both test vectors lose the same share it is rho, and rho is never undercut by much.
TEST(AutoConsensus, IsHalfOfWhatTheCompressorKeeps) {
  for (const auto& [spec, share] :
       {std::pair("identity", 1.0), {"random_k:0.25", 0.25}, {"random_k:0.5", 0.5}}) {
    const auto parts = toy_parts({concat("algorithm.compressor=", spec)});
    EXPECT_NEAR(parts.config.algorithm.consensus, share / 2, 0.1 * share) << spec;
  }
  for (const auto& info : compressor_table()) {
    const auto parts = toy_parts({"algorithm.compressor=" + info.example});
    EXPECT_GT(parts.config.algorithm.consensus, 0.4 * *parts.facts.compression.rho) << info.example;
    EXPECT_LE(parts.config.algorithm.consensus, 0.5) << info.example;
  }
}

// Brackets are beta of a gradient, and so may be their threshold and noise.
TEST(AutoSteps, KnowWhatRecursiveMomentumGathers) {
  const auto step = [](const char* name, const char* clip, const char* sigma, const char* beta) {
    return toy_parts({concat("algorithm.name=", name), concat("algorithm.clip=linear:", clip),
                      "algorithm.clip_target=sample", concat("algorithm.momentum=", beta),
                      "privacy.calibration=sigma", concat("privacy.sigma=", sigma)})
        .config.algorithm.step;
  };
  EXPECT_EQ(step("motef-vr", "0.25", "0.0625", "0.25"), step("porter-dp", "1", "0.25", "0.25"));
  EXPECT_LT(step("motef-vr", "1", "0.25", "0.25"), step("porter-dp", "1", "0.25", "0.25"));
  EXPECT_EQ(step("ddp-srm", "0.25", "0.0625", "0.25"), step("ddp-srm", "1", "0.25", "1"));
  EXPECT_LT(step("ddp-srm", "1", "0.25", "0.25"), step("ddp-srm", "1", "0.25", "1"));
}

TEST(AutoSteps, NeitherDivergeNorLeaveAnAgentBehind) {
  for (const char* graph : {"ring", "complete", "erdos-renyi:0.5"})
    for (const auto& info : compressor_table())
      for (const char* name : {"porter-gc", "beer", "choco-sgd"}) {
        SCOPED_TRACE(concat(graph, ", ", info.example, ", ", name));
        Trainer trainer(
            toy_parts({concat("network.graph=", graph), "algorithm.compressor=" + info.example,
                       concat("algorithm.name=", name), "algorithm.batch=4", "run.evaluate=end",
                       "model.lambda=0.001", "algorithm.rounds=1000"}));
        MetricsRow first;
        EXPECT_EQ(train(trainer, {{.after_evaluation =
                                       [&](const MetricsRow& row) {
                                         if (row.round == 0) first = row;
                                       }}}),
                  TrainStatus::finished);
        const auto& last = *trainer.now().previous;
        EXPECT_LT(last.loss, 0.6 * first.loss);
        EXPECT_LT(last.agent_loss_mean, 0.6 * first.loss);
        EXPECT_LT(last.agent_loss_worst, first.loss);
      }
}

TEST(AutoSteps, AreNumbersInTheConfigThatEverybodyCompares) {
  const auto parts = toy_parts({});
  EXPECT_GT(parts.config.algorithm.step, 0);
  EXPECT_EQ(to_toml(parts.config).find("auto"), std::string::npos);
  const auto again = toy_parts({"run.threads=3"});
  EXPECT_EQ(run_id(again.config), run_id(parts.config));
}

// The bound 1 / L, against second derivatives by differences of gradients.
TEST(AutoSteps, StayBelowTheInverseCurvature) {
  for (const auto& [model, classes] :
       {std::pair("logistic", 2U), {"softmax", 3U}, {"linear", 0U}}) {
    SCOPED_TRACE(model);
    const auto parts = toy_parts({concat("model.name=", model), "algorithm.rounds=1"}, classes);
    std::vector<double> x(parts.facts.dim), y(x), gx(x), gy(x), difference(x), sum(x);
    for (std::uint32_t trial = 0; trial < 50; ++trial) {
      RngStream(5, Draw::test, 0, trial).fill_normal(x);
      RngStream(5, Draw::test, 1, trial).fill_normal(difference);
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1e-3 * difference[i];
      std::fill(sum.begin(), sum.end(), 0.0);
      const auto& train = *parts.data.train;
      for (std::size_t row = 0; row < train.rows(); ++row) {
        parts.model->loss(x, train[row], gx);
        parts.model->loss(y, train[row], gy);
        for (std::size_t i = 0; i < x.size(); ++i)
          sum[i] += (gy[i] - gx[i]) / static_cast<double>(train.rows());
      }
      const double curvature = std::sqrt(squared_norm(sum) / squared_norm(difference)) / 1e-3;
      EXPECT_LE(parts.config.algorithm.step, 1.05 / curvature);
    }
  }
}

// With more noise the step is smaller, with more rounds, too.
TEST(AutoSteps, ShrinkWithNoiseAndWithRounds) {
  const auto step = [](const char* sigma, const char* rounds) {
    return toy_parts({"algorithm.name=porter-dp", concat("privacy.sigma=", sigma),
                      concat("algorithm.rounds=", rounds)})
        .config.algorithm.step;
  };
  EXPECT_GT(step("0.1", "1000"), step("1", "1000"));
  EXPECT_GT(step("1", "1000"), step("10", "1000"));
  EXPECT_GT(step("1", "1000"), step("1", "100000"));
}

std::string auto_refusal(const std::vector<std::string>& overrides, Sources sources = {}) {
  try {
    assemble(untuned(overrides), std::move(sources));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(AutoSteps, OfPrivateRecordsComeFromPublicFactsOrNotAtAll) {
  const std::vector<std::string> secret = {"algorithm.name=porter-dp", "privacy.noise=secure",
                                           "network.agents=8", "privacy.allow_large_delta=true",
                                           "privacy.delta=1e-3"};
  const auto of = [&](RunData data) {
    auto keys = secret;
    keys.push_back("data.scale=unit");
    return assemble(untuned(keys), {.data = std::move(data)}).config.algorithm.step;
  };
  EXPECT_NE(auto_refusal(secret, {.data = toy_run(2, 8)}).find("everybody would see the number"),
            std::string::npos);
  // Whatever the records are, the number is the same.
  auto other = toy_run(2, 8);
  auto changed = *other.train;
  for (float& value : changed.values) value *= 100;
  for (float& label : changed.labels) label = 1;
  other.train = std::make_shared<const Dataset>(std::move(changed));
  EXPECT_EQ(of(toy_run(2, 8)), of(std::move(other)));
}

TEST(AutoSteps, AreRefusedWhereNoCurvatureIsKnown) {
  const auto text = auto_refusal({"model.name=mlp", "network.agents=8"}, {.data = toy_run(2, 8)});
  EXPECT_NE(text.find("algorithm.step: \"auto\" needs a model"), std::string::npos) << text;
  auto alone = toy_run(2, 8);
  alone.holder = 0;
  const auto holder = auto_refusal({"network.agents=8"}, {.data = std::move(alone)});
  EXPECT_NE(holder.find("data.scale = \"unit\""), std::string::npos) << holder;
}

}  // namespace
}  // namespace porter
