// SPDX-License-Identifier: Apache-2.0
// Runs that predict numbers: their figures against a plain computation, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/vector_math.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "says.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"
#include "train/evaluator.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFeatures = 6;

// A table of numbers with some targets, and configs on it.
class RegressionRun : public testing::Test {
 protected:
  void write(const std::string& name, const Dataset& data) {
    const Npz arrays = {
        {"X", {{data.rows(), data.features}, {data.values.begin(), data.values.end()}}},
        {"y", {{data.rows(), data.outputs}, {data.labels.begin(), data.labels.end()}}}};
    save_npz(dir_ / name, arrays);
  }
  void write_sets(std::size_t outputs, double noise = 0.3) {
    write("train.npz", toy_targets(120, kFeatures, outputs, false, noise));
    write("test.npz", toy_targets(50, kFeatures, outputs, false, noise, 1));
  }

  Config config(std::vector<std::string> overrides = {}) {
    overrides.insert(overrides.begin(),
                     {"data.train=" + (dir_ / "train.npz").string(),
                      "data.test=" + (dir_ / "test.npz").string(), "network.agents=4",
                      "network.graph=ring", "algorithm.name=porter-gc", "algorithm.rounds=60",
                      "algorithm.step=0.1", "algorithm.consensus=0.3", "algorithm.batch=8",
                      "algorithm.compressor=top_k:0.5", "run.threads=1", "run.evaluate=every:30"});
    return parse_config("", "test", overrides);
  }

  TempDir dir_;
};

// RMSE and R2 by their definition, from one prediction after the other.
struct PlainFit {
  double rmse = 0, r2 = 0;
};
PlainFit plain_fit(const Model& model, std::span<const double> x, const Dataset& data) {
  double error = 0, spread = 0;
  std::vector<double> predictions(data.outputs), means(data.outputs, 0.0);
  const auto rows = static_cast<double>(data.rows());
  for (std::size_t row = 0; row < data.rows(); ++row)
    for (std::size_t o = 0; o < data.outputs; ++o) means[o] += double{data.targets(row)[o]} / rows;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    model.predict_targets(x, data[row], predictions);
    for (std::size_t o = 0; o < data.outputs; ++o) {
      const double y{data.targets(row)[o]};
      error += (predictions[o] - y) * (predictions[o] - y);
      spread += (y - means[o]) * (y - means[o]);
    }
  }
  return {std::sqrt(error / (rows * static_cast<double>(data.outputs))), 1 - error / spread};
}

// The [model] of a case.
std::vector<std::string> model_keys(const std::string& name, const std::string& loss) {
  std::vector<std::string> keys = {"model.name=" + name, "model.loss=" + loss};
  if (name == "mlp") keys.push_back("model.hidden=[5]");
  return keys;
}

TEST_F(RegressionRun, FiguresAreThoseOfAPlainComputation) {
  for (const std::string name : {"linear", "mlp"})
    for (const std::size_t outputs : {1, 3}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << outputs);
      write_sets(outputs);
      Trainer trainer(assemble(config(model_keys(name, "huber"))));
      train(trainer);
      const auto& parts = trainer.parts();
      const auto& X = trainer.algorithm().iterates();
      const auto row = *trainer.now().previous;
      const auto x = mean_row(X);
      const auto on_train = plain_fit(*parts.model, x, *parts.data.train);
      const auto on_test = plain_fit(*parts.model, x, *parts.data.test);
      EXPECT_NEAR(*row.train_rmse, on_train.rmse, 1e-12);
      EXPECT_NEAR(*row.train_r2, on_train.r2, 1e-12);
      EXPECT_NEAR(*row.test_rmse, on_test.rmse, 1e-12);
      EXPECT_NEAR(*row.test_r2, on_test.r2, 1e-12);
      PlainFit mean, worst{0, 1};
      for (std::size_t agent = 0; agent < 4; ++agent) {
        const auto fit = plain_fit(*parts.model, X.row(agent), *parts.data.test);
        mean.rmse += fit.rmse / 4;
        mean.r2 += fit.r2 / 4;
        worst = {std::max(worst.rmse, fit.rmse), std::min(worst.r2, fit.r2)};
      }
      EXPECT_NEAR(*row.agent_rmse_mean, mean.rmse, 1e-12);
      EXPECT_NEAR(*row.agent_rmse_worst, worst.rmse, 1e-12);
      EXPECT_NEAR(*row.agent_r2_mean, mean.r2, 1e-12);
      EXPECT_NEAR(*row.agent_r2_worst, worst.r2, 1e-12);
      EXPECT_FALSE(row.train_accuracy || row.test_accuracy || row.agent_accuracy_mean);
      EXPECT_GT(*row.test_r2, name == "mlp" ? 0 : 0.5);  // something was learned
    }
}

TEST_F(RegressionRun, LeastSquaresOfNoiselessDataIsRecovered) {
  write_sets(2, 0);
  Trainer trainer(
      assemble(config({"model.name=linear", "model.loss=squared", "data.bias=false",
                       "algorithm.name=beer", "algorithm.clip=none", "algorithm.clip_target=sample",
                       "algorithm.batch=full", "algorithm.compressor=identity",
                       "algorithm.rounds=600", "algorithm.step=0.2", "algorithm.consensus=0.8"})));
  train(trainer);
  const auto x = mean_row(trainer.algorithm().iterates());
  std::vector<double> teacher(2 * kFeatures);
  RngStream(97, Draw::test, 0, 0).fill_normal(teacher);
  ASSERT_EQ(x.size(), teacher.size());
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], teacher[j], 1e-5) << j;
  EXPECT_GT(*trainer.now().previous->agent_r2_worst, 1 - 1e-9);
}

TEST_F(RegressionRun, SameBitsForAnyNumberOfThreadsAndAfterAResumption) {
  write_sets(2);
  for (const std::string precision : {"double", "float"})
    for (const std::string batch : {"1", "8"}) {
      SCOPED_TRACE(precision + " " + batch);
      auto keys = model_keys("mlp", "squared");
      keys.insert(keys.end(), {"run.precision=" + precision, "algorithm.batch=" + batch});
      Trainer one(assemble(config(keys)));
      train(one);
      keys.push_back("run.threads=3");
      Trainer two(assemble(config(keys))), again(assemble(config(keys)));
      while (two.round() < 31) {
        if (two.evaluation_due()) two.evaluate();
        two.step();
      }
      again.restore(two.checkpoint(), "a checkpoint");
      train(again);
      for (std::size_t agent = 0; agent < 4; ++agent)
        EXPECT_TRUE(std::ranges::equal(one.algorithm().iterates().row(agent),
                                       again.algorithm().iterates().row(agent)));
      auto expected = *one.now().previous, found = *again.now().previous;
      expected.seconds = found.seconds = 0;
      EXPECT_EQ(metrics_line(found), metrics_line(expected));
    }
}

TEST_F(RegressionRun, EqualTargetsHaveNoR2) {
  auto flat = toy_targets(40, kFeatures, 1, false);
  std::fill(flat.labels.begin(), flat.labels.end(), 0.1F);
  const auto model = make_model({.name = "linear", .loss = LossKind::squared}, kFeatures, 0);
  ThreadPool pool(1);
  const std::vector<double> zero(kFeatures, 0.0);
  const auto result = evaluate_point(*model, flat, zero, false, pool);
  ASSERT_TRUE(result.fit);
  EXPECT_NEAR(result.fit->rmse, double{0.1F}, 1e-15);
  EXPECT_FALSE(result.fit->r2);

  Rows X(3, kFeatures);
  MetricsRow row;
  Evaluator({*model, flat, 3}, &flat, pool).measure(X, row);
  EXPECT_TRUE(row.test_rmse && row.agent_rmse_worst);
  EXPECT_FALSE(row.train_r2 || row.test_r2 || row.agent_r2_mean || row.agent_r2_worst);
}

TEST_F(RegressionRun, AnAgentThatIsLostIsTheWorst) {
  const auto data = toy_targets(40, kFeatures, 1, false);
  const auto model = make_model({.name = "linear"}, kFeatures, 0);
  ThreadPool pool(1);
  for (const std::size_t lost : {0, 1, 2}) {
    Rows X(3, kFeatures);
    X.row(lost)[0] = NAN;
    MetricsRow row;
    Evaluator({*model, data, 3}, &data, pool).measure(X, row);
    EXPECT_TRUE(std::isnan(*row.agent_rmse_worst) && std::isnan(*row.agent_r2_worst)) << lost;
    EXPECT_TRUE(std::isnan(row.agent_loss_worst)) << lost;
  }
}

TEST_F(RegressionRun, ClassesHaveEmptyCells) {
  const auto data = toy_data(40, kFeatures, 2, false);
  const auto model = make_model({.name = "logistic"}, kFeatures, 2);
  ThreadPool pool(1);
  MetricsRow row;
  Evaluator({*model, data, 3}, &data, pool).measure(Rows(3, kFeatures), row);
  EXPECT_FALSE(row.train_rmse || row.train_r2 || row.test_rmse || row.test_r2 ||
               row.agent_rmse_mean || row.agent_r2_mean);
  EXPECT_TRUE(metrics_line(row).ends_with(",,,,,,,,\n"));
}

TEST_F(RegressionRun, WithSecretNoiseNothingIsMeasuredOnTheTrainingData) {
  write_sets(2);
  for (const bool raw : {false, true}) {
    const auto path = dir_ / (raw ? "raw" : "covered");
    Trainer trainer(assemble(config({"model.name=linear", "model.loss=huber", "data.features=6",
                                     "algorithm.name=porter-dp", "algorithm.clip_target=sample",
                                     "algorithm.compressor=random_k:0.5", "privacy.noise=secure",
                                     "privacy.epsilon=2", "privacy.delta=1e-3"})));
    if (raw) trainer.include_raw_metrics();
    RunFolder folder(path, trainer, ExistingRun::refuse);
    train_in_folder(trainer, folder, {});
    const auto summary = nlohmann::json::parse(read_file(path / "summary.json"));
    for (const char* name : {"loss", "train_rmse", "train_r2"})
      EXPECT_EQ(summary["last"][name].is_null(), !raw) << name;
    for (const char* name : {"test_rmse", "test_r2", "agent_rmse_mean", "agent_rmse_worst",
                             "agent_r2_mean", "agent_r2_worst"})
      EXPECT_FALSE(summary["last"][name].is_null()) << name;
    EXPECT_EQ(summary["model_loss"], "huber");
  }
}

std::string assemble_error(const Config& config) {
  try {
    assemble(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(RegressionRun, SeveralTargetsAreForARegressionOnly) {
  write_sets(2);
  for (const char* name : {"logistic", "softmax", "mlp"})
    EXPECT_TRUE(
        says(assemble_error(config({concat("model.name=", name)})),
             "train.npz: expected one label in each row, its class, found y with 2 columns"))
        << name;
  EXPECT_EQ(assemble_error(config(model_keys("mlp", "cauchy"))), "no error");
}

TEST_F(RegressionRun, StartsOfNumpyHaveTheLayersOfTheRegression) {
  write_sets(3);
  auto keys = model_keys("mlp", "squared");
  keys.push_back("algorithm.start=numpy:1:7");
  EXPECT_EQ(assemble(config(keys)).start.size(), 5U * (kFeatures + 1) + 3 * (5 + 1));
}

TEST_F(RegressionRun, DataOfAgentsAreJoinedWithTheirTargets) {
  const auto all = toy_targets(40, kFeatures, 2, true);
  std::vector<std::uint32_t> first(20), second(20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    first[i] = i;
    second[i] = 20 + i;
  }
  const std::vector<Dataset> agents = {select_rows(all, first), select_rows(all, second)};
  const auto joined = join_agents(agents);
  EXPECT_EQ(joined.train->labels, all.labels);
  EXPECT_EQ(joined.train->rows(), 40U);
  const std::vector<Dataset> unlike = {select_rows(all, first),
                                       select_rows(toy_targets(40, kFeatures, 3, true), second)};
  EXPECT_THROW(join_agents(unlike), Error);
  auto with_test = join_agents(agents, std::make_shared<Dataset>(unlike[1]));
  Sources sources{.data = std::move(with_test)};
  EXPECT_THROW(assemble(config({"model.name=linear", "network.agents=2", "network.graph=path"}),
                        std::move(sources)),
               Error);
}

}  // namespace
}  // namespace porter
