// SPDX-License-Identifier: Apache-2.0
// What is private about a run: its sigma, what it states and keeps to itself, its ledgers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "porter/privacy/ledger.hpp"
#include "porter/train/train.hpp"
#include "says.hpp"
#include "train/run_folder.hpp"
#include "trainer_test.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

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
    train_until_killed(trainer, folder, 25);
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

TEST_F(TrainerTest, MomentsAreNotCoveredWhereTheyAreMeasuredAndConstantsWhereTheyAreGiven) {
  const auto tells_of_scale = [&](const std::vector<std::string>& keys) {
    const auto list = assemble(config(keys)).privacy->statement(1).not_covered;
    return std::ranges::any_of(list, [](const auto& text) { return says(text, "data.scale"); });
  };
  const std::string standard = "data.scale=standard", given = "data.moments=[0.5, 2]";
  EXPECT_TRUE(tells_of_scale({standard}));
  EXPECT_FALSE(tells_of_scale({standard, given}));

  const std::vector<std::string> secret = {"data.classes=[0, 1]", "data.features=6",
                                           "privacy.noise=secure", "privacy.epsilon=2", standard};
  try {
    assemble(config(secret));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::privacy);
    EXPECT_TRUE(says(error.what(), "standard with data.moments")) << error.what();
  }
  auto covered = secret;
  covered.push_back(given);
  const auto parts = assemble(config(covered));
  EXPECT_TRUE(parts.privacy->statement(1).guaranteed);
  EXPECT_FALSE(tells_of_scale(covered));
  EXPECT_EQ(parts.data.scaling.mean, 0.5);
  EXPECT_EQ(parts.data.scaling.deviation, 2);
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

// A release of it is the mean of one clipped vector of each sample, too.
TEST_F(TrainerTest, MotefVrPromisesWhatPorterDpDoes) {
  const auto with = [&](const char* name, std::vector<std::string> more) {
    more.insert(more.begin(),
                {concat("algorithm.name=", name), "data.classes=[0, 1]", "data.features=6",
                 "algorithm.batch=3", "algorithm.clip=linear:0.2", "algorithm.momentum=0.3"});
    return config(more);
  };
  const std::vector<std::vector<std::string>> settings = {
      {"privacy.noise=simulated", "privacy.epsilon=2"},
      {"privacy.noise=simulated", "privacy.sampler=poisson", "privacy.adjacency=add-remove"},
      {"privacy.noise=secure", "privacy.epsilon=2"},
      {"privacy.noise=secure", "privacy.budgets=[2, 1, 1, 0.5]"},
      {"privacy.noise=secure", "privacy.phases=30x1,30x0.9x0.5"}};
  for (const auto& setting : settings) {
    SCOPED_TRACE(setting.front() + ", " + setting.back());
    const auto path = dir_ / (setting.front() + ", " + setting.back());
    Trainer porter(assemble(with("porter-dp", setting))), vr(assemble(with("motef-vr", setting)));
    EXPECT_EQ(train_in(path, vr), TrainStatus::finished);
    const auto said = vr.privacy().statement(60);
    EXPECT_EQ(statement_json(said), statement_json(porter.privacy().statement(60)));
    EXPECT_EQ(said.guaranteed, setting.front() == "privacy.noise=secure");
    if (!said.guaranteed) continue;
    EXPECT_EQ(read_ledger(path / "ledger" / "agent-2.ledger").charges, 60U);
  }
  const auto plain = assemble(config({"algorithm.name=motef-vr"}));
  EXPECT_TRUE(plain.config.algorithm.clip.none());
  EXPECT_EQ(plain.sigma(), 0);
  ThreadPool pool(1);
  EXPECT_TRUE(algorithm_setup(plain, pool).gathers);
  for (const char* unclipped : {"algorithm.clip=none", "algorithm.clip_target=batch"})
    EXPECT_TRUE(says(what_fails([&] {
                       assemble(with("motef-vr", {"privacy.noise=secure", "privacy.sigma=1",
                                                  "privacy.calibration=sigma", unclipped}));
                     }),
                     "needs sigma > 0 and the clipping of each sample"))
        << unclipped;
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

TEST_F(TrainerTest, SecretNoiseWorksInFloat) {
  Trainer trainer(assemble(config(
      {"data.classes=[0, 1]", "data.features=6", "run.precision=float", "privacy.noise=secure"})));
  EXPECT_EQ(train(trainer), TrainStatus::finished);
}

}  // namespace
}  // namespace porter
