// SPDX-License-Identifier: Apache-2.0
#include "porter/train/train.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "core/vector_math.hpp"
#include "io/file.hpp"
#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// A small CSV problem and a config on it.
class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false)));
    write_file(dir_ / "test.csv", csv_text(toy_data(40, 6, 2, false, 1)));
  }

  Config config(std::vector<std::string> overrides = {}) {
    overrides.insert(
        overrides.begin(),
        {"data.train=" + (dir_ / "train.csv").string(), "data.test=" + (dir_ / "test.csv").string(),
         "network.agents=4", "network.graph=ring", "algorithm.rounds=60", "algorithm.step=0.1",
         "algorithm.consensus=0.2", "algorithm.compressor=random_k:0.4", "run.threads=1"});
    return parse_config("", "test", overrides);
  }

  TempDir dir_;
};

std::string model_bytes(Trainer& trainer) {
  std::string bytes;
  trainer.with_model([&](const auto& model) { bytes = encode_npz(model); });
  return bytes;
}

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

TEST_F(TrainerTest, PaperSigmaFollowsTheoremOneAndItsClaimStandsBesideTheTruth) {
  const Trainer trainer(
      assemble(config({"privacy.epsilon=0.5", "privacy.delta=0.01", "privacy.calibration=paper"})));
  // tau = 1, T = 60, m = 30
  EXPECT_NEAR(trainer.parts().sigma(), std::sqrt(60 * std::log(100.0)) / (30 * 0.5), 1e-12);
  const auto sentence = trainer.privacy().sentence(60);
  EXPECT_NE(sentence.find("simulated noise: not private"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("claims epsilon = 0.5"), std::string::npos) << sentence;
  EXPECT_GT(trainer.privacy().interval(60)->lower, 0.5);  // the claim is not true here
}

TEST_F(TrainerTest, TheAccountantsSigmaMeetsTheTargetAndNotMuchMore) {
  for (const char* sampler : {"fixed", "poisson"}) {
    SCOPED_TRACE(sampler);
    Trainer trainer(assemble(config({"privacy.epsilon=2", "privacy.delta=1e-4", "algorithm.batch=3",
                                     std::string("privacy.sampler=") + sampler})));
    const auto bounds = trainer.privacy().interval(60);
    EXPECT_LE(bounds->upper, 2);
    EXPECT_GT(bounds->upper, 1.99);
    EXPECT_LE(bounds->lower, bounds->upper);
    double previous = -1;
    train(trainer, {{.after_evaluation = [&](const MetricsRow& row) {
            ASSERT_TRUE(row.epsilon);
            EXPECT_GT(*row.epsilon, previous) << row.round;
            previous = *row.epsilon;
          }}});
    EXPECT_NEAR(previous, bounds->upper, 2e-3 * bounds->upper);
  }
}

TEST_F(TrainerTest, TheSentencePromisesNoMoreThanIsCertified) {
  for (const char* sigma : {"0.1", "0.15", "0.2", "0.25", "0.3", "0.35"}) {
    const auto parts = assemble(config({std::string("privacy.sigma=") + sigma}));
    const auto sentence = parts.privacy->sentence(60);
    const auto bounds = parts.privacy->interval(60);
    double lower = 0, upper = 0;
    ASSERT_EQ(std::sscanf(sentence.substr(sentence.find("epsilon in")).c_str(),
                          "epsilon in [%lf, %lf]", &lower, &upper),
              2)
        << sentence;
    EXPECT_LE(lower, bounds->lower) << sentence;
    EXPECT_GE(upper, bounds->upper) << sentence;
  }
}

TEST_F(TrainerTest, NothingIsCertifiedWithoutNoiseOrPerSampleClipping) {
  const Trainer silent(assemble(config({"privacy.sigma=0"})));
  EXPECT_EQ(silent.privacy().sentence(60), "sigma = 0, no noise is added: not private");
  EXPECT_FALSE(silent.privacy().interval(60));
  const Trainer batch(assemble(
      config({"algorithm.name=soteriafl-sgd", "algorithm.clip_target=batch", "privacy.sigma=1"})));
  EXPECT_FALSE(batch.privacy().interval(60));
  EXPECT_NE(batch.privacy().sentence(60).find("nothing can be certified"), std::string::npos);
}

TEST_F(TrainerTest, ADeltaThatAllowsToPublishARecordIsRefusedUnlessNamed) {
  try {
    Trainer trainer(assemble(config({"privacy.delta=0.05"})));  // m = 30
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("allow_large_delta"), std::string::npos);
  }
  EXPECT_NO_THROW(assemble(config({"privacy.delta=0.05", "privacy.allow_large_delta=true"})));
}

TEST_F(TrainerTest, SecretNoiseIsChargedToLedgersThatSurviveARestoredCheckpoint) {
  const std::vector<std::string> secret = {"data.classes=[0, 1]",     "data.features=6",
                                           "privacy.noise=secure",    "privacy.epsilon=2",
                                           "run.checkpoint=every:10", "algorithm.batch=3"};
  const auto path = dir_ / "secret";
  {
    Trainer trainer(assemble(config(secret)));
    RunFolder folder(path, trainer, ExistingRun::refuse);
    EXPECT_THROW(train_in_folder(trainer, folder,
                                 {{.after_round =
                                       [&] {
                                         if (trainer.round() == 25)
                                           throw std::runtime_error("killed");
                                       }}}),
                 std::runtime_error);
  }
  const auto ledger = path / "ledger" / "agent-2.ledger";
  EXPECT_EQ(read_ledger(ledger).charges, 25U);
  Trainer trainer(assemble(config(secret)));
  std::optional<RunFolder> folder(std::in_place, path, trainer, ExistingRun::resume);
  folder->restore(trainer);
  EXPECT_EQ(trainer.round(), 20U);
  EXPECT_EQ(trainer.releases(), 25U);  // the five rounds after the checkpoint stay charged
  // The budget was for 60 releases, 25 are gone and 40 rounds are left: the run ends with its
  // model.
  EXPECT_EQ(train_in_folder(trainer, *folder, {}), TrainStatus::budget_spent);
  EXPECT_EQ(RunFolder::recorded_status(path), TrainStatus::budget_spent);
  EXPECT_LE(*trainer.privacy().epsilon(trainer.releases()), 2);
  EXPECT_EQ(read_ledger(ledger).charges, trainer.releases());
  EXPECT_LT(trainer.round(), 60U);
  EXPECT_TRUE(fs::exists(path / "model.npz"));
  const auto statement = nlohmann::json::parse(read_file(path / "privacy.json"));
  EXPECT_EQ(statement["noise"], "secure");
  EXPECT_LE(statement["guarantee"]["epsilon"], 2);
  EXPECT_THROW(RunFolder(path, trainer, ExistingRun::replace),
               Error);  // a ledger is never removed
  // Resumed once more, with nothing left to spend, it ends with the same model.
  folder.reset();
  const auto model = read_file(path / "model.npz");
  Trainer again(assemble(config(secret)));
  RunFolder same(path, again, ExistingRun::resume);
  same.restore(again);
  EXPECT_EQ(train_in_folder(again, same, {}), TrainStatus::budget_spent);
  EXPECT_EQ(read_file(path / "model.npz"), model);
}

// What an interrupted run has spent is less than it spends once it goes on.
TEST_F(TrainerTest, AResumedRunKeepsNoStatementOfWhatItWillOutgrow) {
  const auto secret = config({"data.classes=[0, 1]", "data.features=6", "privacy.noise=secure",
                              "privacy.epsilon=2", "algorithm.batch=3"});
  const auto path = dir_ / "outgrown";
  {
    Trainer trainer(assemble(secret));
    RunFolder folder(path, trainer, ExistingRun::refuse);
    train_in_folder(trainer, folder, {{.stop_requested = [&] { return trainer.round() >= 5; }}});
    EXPECT_TRUE(fs::exists(path / "privacy.json"));
  }
  Trainer trainer(assemble(secret));
  RunFolder folder(path, trainer, ExistingRun::resume);
  folder.restore(trainer);
  EXPECT_FALSE(fs::exists(path / "privacy.json"));
  EXPECT_FALSE(RunFolder::recorded_status(path));
}

// Exact losses of the training data are no part of what epsilon covers, and neither is an average
// that they chose.
TEST_F(TrainerTest, WithSecretNoiseNothingIsMeasuredOnTheTrainingDataUnlessAskedFor) {
  const auto secret = config({"data.classes=[0, 1]", "data.features=6", "privacy.noise=secure",
                              "privacy.epsilon=2", "algorithm.batch=3", "run.evaluate=every:20"});
  for (const bool raw : {false, true}) {
    SCOPED_TRACE(raw);
    const auto path = dir_ / (raw ? "raw" : "covered");
    Trainer trainer(assemble(secret));
    if (raw) trainer.include_raw_metrics();
    RunFolder folder(path, trainer, ExistingRun::refuse);
    train_in_folder(trainer, folder, {});
    const auto model = load_npz(path / "model.npz");
    EXPECT_FALSE(model.contains("x_best"));
    EXPECT_TRUE(model.contains("x_mean") && model.contains("x_out") && model.contains("X"));
    const auto summary = nlohmann::json::parse(read_file(path / "summary.json"));
    for (const char* name : {"loss", "grad_norm_sq", "utility", "train_accuracy", "agent_loss_mean",
                             "agent_loss_worst"})
      EXPECT_EQ(summary["last"][name].is_null(), !raw) << name;
    EXPECT_EQ(summary["best"].is_null(), !raw);
    EXPECT_FALSE(summary["last"]["test_accuracy"].is_null());
    EXPECT_EQ(summary["raw_metrics"], raw);
    EXPECT_EQ(summary["notes"].dump().find("no epsilon covers") != std::string::npos, raw);
    const auto statement = nlohmann::json::parse(read_file(path / "privacy.json"));
    EXPECT_EQ(statement["not_covered"].dump().find("raw data") != std::string::npos, raw);
    // Round 60: loss, gradient norm, utility and training accuracy.
    EXPECT_EQ(read_file(path / "metrics.csv").find("\n60,,,,,0.") != std::string::npos, !raw);
  }
  // The checkpoint holds none, either, and a run that began without them goes on without.
  Trainer again(assemble(secret));
  RunFolder folder(dir_ / "covered", again, ExistingRun::resume);
  again.include_raw_metrics();
  EXPECT_THROW(folder.restore(again), Error);
}

// The aggregation's noise comes from the public seed, also where it is of one agent.
TEST_F(TrainerTest, SecretNoiseIsRefusedWhereAgentsDoNotAddTheirOwnToOneGradient) {
  for (const char* name : {"ddp-srm", "soteriafl-svrg"})
    for (const char* agents : {"1", "4"}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << agents);
      const auto run = [&](const char* noise) {
        assemble(config({"data.classes=[0, 1]", "data.features=6", "algorithm.batch=3",
                         concat("algorithm.name=", name), "algorithm.compressor=identity",
                         concat("network.agents=", agents), concat("privacy.noise=", noise),
                         "privacy.epsilon=2"}));
      };
      EXPECT_NO_THROW(run("simulated"));
      try {
        run("secure");
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::privacy) << error.what();
      }
    }
}

// Which rounds are in metrics.csv is for everybody to see.
TEST_F(TrainerTest, ARunThatBeganWithRawMetricsGoesOnWithThem) {
  const auto secret = config({"data.classes=[0, 1]", "data.features=6", "privacy.noise=secure",
                              "privacy.epsilon=2", "algorithm.batch=3"});
  const auto path = dir_ / "raw";
  for (const bool first : {true, false}) {
    Trainer trainer(assemble(secret));
    if (first) trainer.include_raw_metrics();
    RunFolder folder(path, trainer, first ? ExistingRun::refuse : ExistingRun::resume);
    if (!first) folder.restore(trainer);
    train_in_folder(trainer, folder,
                    {{.stop_requested = [&] { return first && trainer.round() >= 20; }}});
  }
  const auto statement = nlohmann::json::parse(read_file(path / "privacy.json"));
  EXPECT_NE(statement["not_covered"].dump().find("raw data"), std::string::npos);
  const auto summary = nlohmann::json::parse(read_file(path / "summary.json"));
  EXPECT_FALSE(summary["last"]["loss"].is_null());
}

TEST_F(TrainerTest, ASummaryKeepsTheLastRowThoughNothingMoreIsEvaluated) {
  for (const bool first : {true, false}) {
    Trainer trainer(assemble(config({"run.evaluate=every:20"})));
    RunFolder folder(dir_ / "run", trainer, first ? ExistingRun::refuse : ExistingRun::resume);
    if (!first) folder.restore(trainer);
    train_in_folder(trainer, folder, {{.stop_requested = [&] { return trainer.round() >= 25; }}});
    const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
    ASSERT_FALSE(summary["last"].is_null()) << first;
    EXPECT_EQ(summary["last"]["round"], 20) << first;
  }
}

TEST_F(TrainerTest, WithSecretNoiseTheRecordsDoNotChooseWhenTheRunIsEvaluated) {
  const auto rounds = [&](const std::string& entries, const std::string& noise) {
    std::string text;
    for (int row = 0; row < 120; ++row) text += (row % 2 ? "1 " : "0 ") + entries + "\n";
    write_file(dir_ / "own.libsvm", text);
    return assemble(config({"data.train=" + (dir_ / "own.libsvm").string(),
                            "data.test=", "data.classes=[0, 1]", "data.features=6",
                            "privacy.noise=" + noise, "privacy.epsilon=2",
                            "algorithm.rounds=1000000", "run.evaluate=log:1000000"}))
        .facts.evaluation_rounds;
  };
  const std::string few = "1:1", many = "1:1 2:1 3:1 4:1 5:1 6:1";
  EXPECT_EQ(rounds(few, "secure"), rounds(many, "secure"));
  EXPECT_NE(rounds(few, "simulated"), rounds(many, "simulated"));
}

TEST_F(TrainerTest, ThatSecretLabelsDecideWhoGetsWhatIsInTheStatement) {
  const auto warned = [&](const std::string& split, const std::string& noise) {
    Trainer trainer(
        assemble(config({"data.classes=[0, 1]", "data.features=6", "data.split=" + split,
                         "privacy.noise=" + noise, "privacy.epsilon=2", "algorithm.batch=3"})));
    const auto path = dir_ / (split.substr(0, 3) + noise);
    RunFolder folder(path, trainer, ExistingRun::refuse);
    train_in_folder(trainer, folder, {});
    const auto statement = nlohmann::json::parse(read_file(path / "privacy.json"));
    return statement["warnings"].dump().find("data.split") != std::string::npos;
  };
  for (const char* split : {"by-label", "dirichlet:1"}) {
    EXPECT_TRUE(warned(split, "secure")) << split;
    EXPECT_FALSE(warned(split, "simulated")) << split;
  }
  EXPECT_FALSE(warned("shuffled", "secure"));
}

TEST_F(TrainerTest, WithoutATestSetTheMajorityOfSecretLabelsIsNotTold) {
  const auto facts = [&](const char* noise) {
    return assemble(config({"data.classes=[0, 1]", "data.features=6",
                            "data.test=", std::string("privacy.noise=") + noise}))
        .facts;
  };
  EXPECT_TRUE(facts("simulated").majority_rate);
  EXPECT_FALSE(facts("secure").majority_rate);
}

// A kill between two agents' charges leaves one ledger ahead. The others follow before a checkpoint
// can say that there was one more release.
TEST_F(TrainerTest, LedgersThatCountDifferentlyAreBroughtTogether) {
  const std::vector<std::string> secret = {"data.classes=[0, 1]", "data.features=6",
                                           "privacy.noise=secure", "privacy.epsilon=2",
                                           "algorithm.batch=3"};
  const auto path = dir_ / "apart";
  const auto ledger = [&](int agent) {
    return path / "ledger" / ("agent-" + std::to_string(agent) + ".ledger");
  };
  const auto resume_and_stop_at = [&](std::uint32_t round) {
    Trainer trainer(assemble(config(secret)));
    const bool exists = fs::exists(path);
    RunFolder folder(path, trainer, exists ? ExistingRun::resume : ExistingRun::refuse);
    if (exists) folder.restore(trainer);
    train_in_folder(trainer, folder,
                    {{.stop_requested = [&] { return trainer.round() >= round; }}});
  };
  resume_and_stop_at(5);
  Ledger::resume(ledger(1), read_ledger(ledger(1)).header).charge(6);
  resume_and_stop_at(5);
  for (const int agent : {0, 1, 2}) EXPECT_EQ(read_ledger(ledger(agent)).charges, 6U);
  EXPECT_NO_THROW(resume_and_stop_at(8));
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

TEST_F(TrainerTest, InterruptedAndResumedIsBitIdenticalForEveryAlgorithm) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    std::vector<std::string> overrides = {"algorithm.name=" + info.name};
    if (!info.compresses) overrides.push_back("algorithm.compressor=identity");
    const auto straight = dir_ / (info.name + "-straight"), broken = dir_ / (info.name + "-broken");
    {
      Trainer trainer(assemble(config(overrides)));
      RunFolder folder(straight, trainer, ExistingRun::refuse);
      train_in_folder(trainer, folder, {});
    }
    for (const std::uint32_t stop : {0U, 7U, 41U}) {
      Trainer trainer(assemble(config(overrides)));
      RunFolder folder(broken, trainer,
                       fs::exists(broken) ? ExistingRun::resume : ExistingRun::refuse);
      if (fs::exists(broken / "summary.json")) folder.restore(trainer);
      EXPECT_EQ(train_in_folder(trainer, folder,
                                {{.stop_requested = [&] { return trainer.round() >= stop; }}}),
                TrainStatus::interrupted);
      EXPECT_EQ(RunFolder::recorded_status(broken), TrainStatus::interrupted);
    }
    Trainer trainer(assemble(config(overrides)));
    RunFolder folder(broken, trainer, ExistingRun::resume);
    folder.restore(trainer);
    EXPECT_EQ(trainer.round(), 41U);
    EXPECT_EQ(train_in_folder(trainer, folder, {}), TrainStatus::finished);
    EXPECT_EQ(read_file(straight / "model.npz"), read_file(broken / "model.npz"));
    // The metrics too, but for the seconds.
    const auto without_seconds = [](const std::string& text) {
      const auto& columns = metrics_columns();
      const auto seconds =
          std::ranges::find(columns, std::string_view("seconds"),
                            [](const auto& c) { return std::string_view(c.name); });
      std::istringstream in(text);
      std::string out, line, cell;
      while (std::getline(in, line)) {
        std::istringstream cells(line);
        for (auto column = columns.begin(); std::getline(cells, cell, ','); ++column)
          if (column != seconds) out += cell + ",";
        out += "\n";
      }
      return out;
    };
    EXPECT_EQ(without_seconds(read_file(straight / "metrics.csv")),
              without_seconds(read_file(broken / "metrics.csv")));
  }
}

TEST_F(TrainerTest, AFloatRunResumesBitForBitPastARebuiltGap) {
  const auto floats = config({"run.precision=float", "algorithm.rounds=150"});
  const auto step_to = [](Trainer& trainer, std::uint32_t round) {
    while (trainer.round() < round) trainer.step();
  };
  Trainer straight(assemble(floats)), broken(assemble(floats)), resumed(assemble(floats));
  step_to(broken, 50);
  resumed.restore(broken.checkpoint(), "checkpoint");
  step_to(straight, 150);
  step_to(resumed, 150);
  EXPECT_EQ(straight.checkpoint().matrices.at("U").values,
            resumed.checkpoint().matrices.at("U").values);
  EXPECT_EQ(model_bytes(straight), model_bytes(resumed));
}

TEST_F(TrainerTest, SecretNoiseWorksInFloat) {
  Trainer trainer(assemble(config(
      {"data.classes=[0, 1]", "data.features=6", "run.precision=float", "privacy.noise=secure"})));
  EXPECT_EQ(train(trainer), TrainStatus::finished);
}

TEST_F(TrainerTest, PeriodicCheckpointsSurviveAKill) {
  const auto folder_path = dir_ / "killed";
  {
    Trainer trainer(assemble(config({"run.checkpoint=every:10"})));
    RunFolder folder(folder_path, trainer, ExistingRun::refuse);
    // Thrown out of the middle, as a kill would: no final files.
    EXPECT_THROW(train_in_folder(trainer, folder,
                                 {{.after_round =
                                       [&] {
                                         if (trainer.round() == 25)
                                           throw std::runtime_error("killed");
                                       }}}),
                 std::runtime_error);
    EXPECT_FALSE(fs::exists(folder_path / "model.npz"));
  }
  Trainer straight(assemble(config()));
  train(straight);
  Trainer trainer(assemble(config({"run.checkpoint=every:10"})));
  RunFolder folder(folder_path, trainer, ExistingRun::resume);
  folder.restore(trainer);
  EXPECT_EQ(trainer.round(), 20U);
  train_in_folder(trainer, folder, {});
  EXPECT_EQ(model_bytes(trainer), model_bytes(straight));
}

TEST_F(TrainerTest, ARunKilledBeforeItsFirstPeriodResumesFromItsStart) {
  const auto path = dir_ / "early";
  const auto periodic = config({"run.checkpoint=every:50"});
  {
    Trainer trainer(assemble(periodic));
    RunFolder folder(path, trainer, ExistingRun::refuse);
    EXPECT_THROW(train_in_folder(trainer, folder,
                                 {{.before_round =
                                       [](std::uint32_t round) {
                                         if (round == 9) throw std::runtime_error("killed");
                                       }}}),
                 std::runtime_error);
  }
  Trainer trainer(assemble(periodic));
  RunFolder folder(path, trainer, ExistingRun::resume);
  EXPECT_NO_THROW(folder.restore(trainer));
  EXPECT_EQ(trainer.round(), 0U);
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

TEST_F(TrainerTest, AFolderWithARunIsRefusedResumedOrReplaced) {
  const auto path = dir_ / "run";
  Trainer trainer(assemble(config()));
  { RunFolder folder(path, trainer, ExistingRun::refuse); }
  EXPECT_THROW(RunFolder(path, trainer, ExistingRun::refuse), Error);
  Trainer other(assemble(config({"algorithm.step=0.2"})));
  try {
    RunFolder(path, other, ExistingRun::resume);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("algorithm.step: the folder says 0.1, this command says 0.2"),
              std::string::npos)
        << text;
  }
  Trainer threads(assemble(config({"run.threads=2"})));
  EXPECT_NO_THROW(RunFolder(path, threads, ExistingRun::resume));
  EXPECT_FALSE(RunFolder::is_extension(path, config({"run.engine=mpi"})));
  EXPECT_THROW(RunFolder::is_extension(path, config({"run.engine=tls"})), Error);
  write_file(path / "notes.txt", "mine");
  write_file(path / "model.npz", "old");
  EXPECT_NO_THROW(RunFolder(path, other, ExistingRun::replace));
  EXPECT_FALSE(fs::exists(path / "model.npz"));
  EXPECT_EQ(read_file(path / "notes.txt"), "mine");
  EXPECT_THROW(RunFolder(dir_ / "absent", trainer, ExistingRun::resume), Error);
  // A folder with other people's files is never touched.
  fs::create_directories(dir_ / "mine");
  write_file(dir_ / "mine" / "thesis.txt", "x");
  EXPECT_THROW(RunFolder(dir_ / "mine", trainer, ExistingRun::replace), Error);
  EXPECT_EQ(read_file(dir_ / "mine" / "thesis.txt"), "x");
}

TEST_F(TrainerTest, ACheckpointOfAnotherShapeIsRefused) {
  Trainer trainer(assemble(config()));
  auto checkpoint = trainer.checkpoint();
  checkpoint.matrices["X"] = {{4, 3}, std::vector<double>(12)};
  EXPECT_THROW(trainer.restore(checkpoint, "c.npz"), Error);
  checkpoint.matrices.erase("X");
  EXPECT_THROW(trainer.restore(checkpoint, "c.npz"), Error);
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

TEST_F(TrainerTest, ACheckpointOfAnotherFormatIsRefusedByItsName) {
  Trainer trainer(assemble(config()));
  auto members = to_npz(trainer.checkpoint());
  EXPECT_NO_THROW(to_checkpoint(members, "c.npz"));
  const auto refusal = [&] {
    try {
      to_checkpoint(members, "c.npz");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  members["version"].values = {99};
  EXPECT_NE(refusal().find("c.npz: a checkpoint of format 99, but"), std::string::npos)
      << refusal();
  members.erase("version");
  EXPECT_NE(refusal().find("format 1 (porter 0.1)"), std::string::npos) << refusal();
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

// Not after the training: the parameters of all agents go into one file of at most 4 GiB.
TEST_F(TrainerTest, AModelThatNoFileHoldsIsRefusedAtTheStart) {
  struct Huge final : Model {
    std::size_t dim() const override { return 5'400'000; }
    double loss(std::span<const double>, const Sample&, std::span<double>) const override {
      return 0;
    }
    double predict(std::span<const double>, const Sample&) const override { return 0; }
  };
  struct Idle final : Algorithm {
    void step(std::uint32_t) override {}
    const Rows& iterates() const override { return rows; }
    Traffic& traffic() override { return none; }
    std::vector<NamedRows> state() override { return {}; }
    Rows rows;
    Traffic none;
  };
  Trainer trainer(
      assemble(config({"network.agents=100", "network.mixing=metropolis", "algorithm.start=zeros",
                       "algorithm.name=beer", "run.engine=mpi", "run.evaluate=end"}),
               {.model = std::make_shared<Huge>(),
                .algorithm = [](const AlgorithmSetup&) { return std::make_unique<Idle>(); }}));
  try {
    RunFolder(dir_ / "huge", trainer, ExistingRun::refuse);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4 GiB"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(dir_ / "huge"));
}

TEST_F(TrainerTest, AMatrixWithoutRowsIsADamagedCheckpoint) {
  Checkpoint part;
  part.matrices["X"] = {{}, {1.0}};
  EXPECT_THROW(merge_checkpoints({part, part}, {"a", "b"}), Error);
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

TEST_F(TrainerTest, SummaryHoldsTheContract) {
  Trainer trainer(assemble(config()));
  RunFolder folder(dir_ / "run", trainer, ExistingRun::refuse);
  train_in_folder(trainer, folder, {});
  const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
  for (const char* key : {"last", "best", "d", "k", "rho", "alpha", "n", "m", "sigma", "epsilon",
                          "seconds_per_round", "bytes_sent_per_agent"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_LE(summary["epsilon"][0], summary["epsilon"][1]);
  EXPECT_EQ(summary["d"], 7);
  EXPECT_EQ(summary["k"], 2);
  EXPECT_EQ(summary["last"]["round"], 60);
  EXPECT_EQ(summary["bytes_sent_per_agent"], 60 * 2 * (2 * 4 + 4));
  const auto model = load_npz(dir_ / "run" / "model.npz");
  EXPECT_EQ(model.at("X").shape, (std::vector<std::size_t>{4, 7}));
  EXPECT_EQ(model.at("x_mean").shape, (std::vector<std::size_t>{7}));
  // The written config reproduces the run.
  Trainer again(assemble(load_config(dir_ / "run" / "config.toml")));
  train(again);
  EXPECT_EQ(model_bytes(again), read_file(dir_ / "run" / "model.npz"));
}

}  // namespace
}  // namespace porter
