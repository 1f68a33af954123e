// SPDX-License-Identifier: Apache-2.0
// Finished runs that go on.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/ledger.hpp"
#include "porter/train/train.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class ExtensionTest : public testing::Test {
 protected:
  ExtensionTest() { write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false))); }

  Config config(std::uint32_t rounds, std::vector<std::string> overrides = {}) {
    overrides.insert(
        overrides.begin(),
        {"data.train=" + (dir_ / "train.csv").string(), "network.agents=4", "network.graph=ring",
         "algorithm.name=porter-gc", "algorithm.step=0.1", "algorithm.consensus=0.2",
         "algorithm.compressor=random_k:0.4", "run.threads=1", "run.evaluate=every:10"});
    overrides.push_back("algorithm.rounds=" + std::to_string(rounds));
    return parse_config("", "test", overrides);
  }
  TrainStatus run(const std::string& name, const Config& config,
                  std::vector<Observer> observers = {}) {
    Trainer trainer(assemble(config));
    return train_in(dir_ / name, trainer, std::move(observers));
  }
  std::string refusal(const std::string& name, const Config& config,
                      ErrorKind kind = ErrorKind::usage) {
    try {
      run(name, config);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "no error";
  }
  Npz model(const std::string& name) { return load_npz(dir_ / name / "model.npz"); }
  // Without the seconds.
  std::string metrics(const std::string& name) {
    std::istringstream in(read_file(dir_ / name / "metrics.csv"));
    std::string out, line;
    std::optional<std::size_t> left_out;
    while (std::getline(in, line)) {
      std::istringstream cells(line);
      std::string cell;
      for (std::size_t column = 0; std::getline(cells, cell, ','); ++column) {
        if (cell == "seconds") left_out = column;
        if (column != left_out) out += cell + ',';
      }
      out += '\n';
    }
    return out;
  }
  nlohmann::json summary(const std::string& name) {
    return nlohmann::json::parse(read_file(dir_ / name / "summary.json"));
  }

  TempDir dir_;
};

TEST_F(ExtensionTest, EndsWithTheBitsOfALongerRunForEveryAlgorithm) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    std::vector<std::string> keys = {"algorithm.name=" + info.name};
    if (!info.compresses) keys.push_back("algorithm.compressor=identity");
    if (info.noise != AlgorithmInfo::Noise::never)
      keys.insert(keys.end(),
                  {"algorithm.clip=smooth:1", "privacy.calibration=sigma", "privacy.sigma=0.3"});
    const auto longer = info.name + "-longer";
    run(info.name, config(30, keys));
    EXPECT_EQ(run(info.name, config(60, keys)), TrainStatus::finished);
    run(longer, config(60, keys));
    // 60 is a multiple of 30, so that the rounds of x_out coincide, too.
    EXPECT_EQ(read_file(dir_ / info.name / "model.npz"), read_file(dir_ / longer / "model.npz"));
    EXPECT_EQ(read_file(dir_ / info.name / "config.toml"),
              read_file(dir_ / longer / "config.toml"));
    auto a = summary(info.name), b = summary(longer);
    for (const char* key : {"releases", "rounds"}) EXPECT_EQ(a["privacy"][key], b["privacy"][key]);
    EXPECT_EQ(a["privacy"]["epsilon"], b["privacy"]["epsilon"]);
    EXPECT_EQ(a["rounds_done"], 60);
    if (info.noise == AlgorithmInfo::Noise::never) {  // else epsilon's grid is another
      EXPECT_EQ(metrics(info.name), metrics(longer));
    }
  }
}

TEST_F(ExtensionTest, MayBeInterruptedAndExtendedOnceMore) {
  run("steps", config(20));
  std::uint32_t rounds = 0;
  EXPECT_EQ(
      run("steps", config(40),
          {{.after_round = [&] { ++rounds; }, .stop_requested = [&] { return rounds == 7; }}}),
      TrainStatus::interrupted);
  EXPECT_NE(refusal("steps", config(80)).find("its checkpoint is of round 27"), std::string::npos);
  EXPECT_EQ(run("steps", config(40)), TrainStatus::finished);
  EXPECT_EQ(run("steps", config(80)), TrainStatus::finished);
  run("straight", config(80));
  EXPECT_EQ(model("steps").at("X").values, model("straight").at("X").values);
  EXPECT_EQ(metrics("steps"), metrics("straight"));
}

// What a kill leaves between the two files of which the first one is written.
TEST_F(ExtensionTest, ThatWasKilledAtItsBeginningIsBegunAgain) {
  run("killed", config(20));
  const auto old_config = read_file(dir_ / "killed" / "config.toml");
  EXPECT_EQ(run("killed", config(40), {{.stop_requested = [] { return true; }}}),
            TrainStatus::interrupted);
  write_file(dir_ / "killed" / "config.toml", old_config);
  EXPECT_EQ(run("killed", config(40)), TrainStatus::finished);
  run("straight", config(40));
  EXPECT_EQ(read_file(dir_ / "killed" / "model.npz"), read_file(dir_ / "straight" / "model.npz"));
}

// Where the round that is drawn for the longer run lies behind, the x_out of the shorter one stays.
TEST_F(ExtensionTest, HasAnXOutOfARoundThatItCanKnow) {
  std::size_t kept = 0, drawn = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const auto name = std::to_string(seed), key = "run.seed=" + name;
    run(name, config(20, {key}));
    const auto before = model(name).at("x_out").values;
    const auto was = summary(name)["x_out"];
    run(name, config(33, {key}));
    run(name + "-longer", config(33, {key}));
    const auto is = summary(name)["x_out"], straight = summary(name + "-longer")["x_out"];
    const bool behind = straight["round"] <= 20;
    (behind ? kept : drawn) += 1;
    EXPECT_EQ(is, behind ? was : straight);
    EXPECT_EQ(model(name).at("x_out").values,
              behind ? before : model(name + "-longer").at("x_out").values);
  }
  EXPECT_GT(kept, 0U);
  EXPECT_GT(drawn, 0U);
}

TEST_F(ExtensionTest, KeepsTheRowsOfTheShorterRunWhereSchedulesDiffer) {
  const std::vector<std::string> log = {"run.evaluate=log-all:8"};
  run("log", config(50, log));
  const auto before = metrics("log");
  run("log", config(70, log));
  EXPECT_TRUE(metrics("log").starts_with(before)) << metrics("log");
  EXPECT_NE(metrics("log").find("\n70,"), std::string::npos);
}

TEST_F(ExtensionTest, NeedsTheFinalState) {
  run("gone", config(20));
  fs::remove_all(dir_ / "gone" / "checkpoint");
  EXPECT_NE(refusal("gone", config(40)).find("has kept no final state"), std::string::npos);
  run("other", config(20));
  EXPECT_NE(refusal("other", config(40, {"algorithm.step=0.2"})).find("another config"),
            std::string::npos);
  EXPECT_NE(refusal("other", config(10)).find("another config"), std::string::npos);
}

TEST_F(ExtensionTest, OfCalibratedNoiseTellsItsPrice) {
  for (const char* calibration : {"accountant", "paper"}) {
    SCOPED_TRACE(calibration);
    const std::vector<std::string> noise = {"algorithm.name=porter-dp",
                                            concat("privacy.calibration=", calibration)};
    run(calibration, config(20, noise));
    const double sigma = summary(calibration)["sigma"];
    const auto text = refusal(calibration, config(40, noise));
    const std::string price = "40 rounds cost epsilon = ";
    const auto at = text.find(price);
    ASSERT_NE(at, std::string::npos) << text;
    const std::vector<std::string> stated = {"algorithm.name=porter-dp",
                                             "privacy.calibration=sigma",
                                             "privacy.sigma=" + nlohmann::json(sigma).dump()};
    EXPECT_NE(text.find("privacy.sigma=" + nlohmann::json(sigma).dump()), std::string::npos)
        << text;
    EXPECT_EQ(run(calibration, config(40, stated)), TrainStatus::finished);
    EXPECT_GE(std::stod(text.substr(at + price.size())), summary(calibration)["epsilon"][1])
        << "a bound is rounded up";
    const auto straight = concat(calibration, "-straight");
    run(straight, config(40, stated));
    EXPECT_EQ(read_file(dir_ / calibration / "model.npz"),
              read_file(dir_ / straight / "model.npz"));
  }
}

TEST_F(ExtensionTest, OfSecretNoiseIsChargedToTheSameLedgersUpToTheirBudget) {
  const std::vector<std::string> secret = {"algorithm.name=porter-dp", "data.classes=[0, 1]",
                                           "data.features=6",          "privacy.noise=secure",
                                           "privacy.epsilon=20",       "privacy.calibration=sigma",
                                           "privacy.sigma=1",          "privacy.delta=1e-3"};
  const auto charges = [&] {
    return read_ledger(dir_ / "secret" / "ledger" / "agent-2.ledger").charges;
  };
  run("secret", config(20, secret));
  EXPECT_EQ(charges(), 20U);
  // Interrupted, and extended once more: nothing is spent twice, and nothing is forgotten.
  std::uint32_t rounds = 0;
  run("secret", config(40, secret),
      {{.after_round = [&] { ++rounds; }, .stop_requested = [&] { return rounds == 5; }}});
  EXPECT_EQ(charges(), 25U);
  EXPECT_EQ(run("secret", config(40, secret)), TrainStatus::finished);
  EXPECT_EQ(charges(), 40U);
  EXPECT_EQ(run("secret", config(45, secret)), TrainStatus::finished);
  EXPECT_EQ(charges(), 45U);
  EXPECT_EQ(summary("secret")["privacy"]["releases"], 45);
  const auto status = run("secret", config(4000, secret));
  EXPECT_EQ(status, TrainStatus::budget_spent);
  EXPECT_EQ(summary("secret")["privacy"]["releases"], charges());
  EXPECT_LE(summary("secret")["epsilon"][1], 20);
  // A budget is no part of what may change.
  auto richer = secret;
  richer[4] = "privacy.epsilon=20.5";
  EXPECT_NE(refusal("secret", config(4001, richer)).find("another config"), std::string::npos);
}

TEST_F(ExtensionTest, OfASpentBudgetIsRefusedAndLeavesTheFolderAsItIs) {
  std::vector<std::string> secret = {"algorithm.name=porter-dp", "data.classes=[0, 1]",
                                     "data.features=6",          "privacy.noise=secure",
                                     "privacy.epsilon=2",        "privacy.delta=1e-3"};
  run("spent", config(20, secret));
  secret.insert(secret.end(),
                {"privacy.calibration=sigma", "privacy.sigma=" + summary("spent")["sigma"].dump()});
  const auto before = read_file(dir_ / "spent" / "config.toml");
  const auto text = refusal("spent", config(4000, secret), ErrorKind::privacy);
  EXPECT_NE(text.find("is spent"), std::string::npos) << text;
  EXPECT_EQ(read_file(dir_ / "spent" / "config.toml"), before);
  EXPECT_TRUE(fs::exists(dir_ / "spent" / "privacy.json"));
}

TEST_F(ExtensionTest, OfALedgerOfAnotherRunIsRefused) {
  const std::vector<std::string> secret = {"algorithm.name=porter-dp", "data.classes=[0, 1]",
                                           "data.features=6",          "privacy.noise=secure",
                                           "privacy.epsilon=20",       "privacy.calibration=sigma",
                                           "privacy.sigma=1",          "privacy.delta=1e-3"};
  auto other = secret;
  other.push_back("run.seed=2");
  run("one", config(20, secret));
  run("two", config(20, other));
  const auto ledger = fs::path("ledger") / "agent-1.ledger";
  fs::copy_file(dir_ / "two" / ledger, dir_ / "one" / ledger, fs::copy_options::overwrite_existing);
  EXPECT_NE(refusal("one", config(40, secret), ErrorKind::privacy).find("another run"),
            std::string::npos);
}

}  // namespace
}  // namespace porter
