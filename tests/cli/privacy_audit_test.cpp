// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_test.hpp"
#include "io/file.hpp"
#include "measured_table.hpp"

namespace porter {
namespace {

CommandResult audit(const std::string& arguments) {
  return run_command(binary_dir() + "/porter privacy audit " + arguments);
}

const std::string kAuditSetting =
    "--m 100 --batch 20 --sigma 0.05 --rounds 2 --delta 1e-3 --noise simulated --runs 1000 "
    "--trainings 100 ";

TEST(PrivacyAuditCommand, PassesAnHonestSettingOnEveryRung) {
  const auto result = audit(kAuditSetting + "--json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find('{')));
  EXPECT_EQ(json["verdict"], "passed: nothing caught on rungs 1, 2, 3, 4, 5");
  EXPECT_EQ(json["rungs"].size(), 5U);
  EXPECT_FALSE(json["caught"]);
  EXPECT_LT(json["rungs"][2]["checks"][0]["measured"], json["epsilon"]);
}

TEST(PrivacyAuditCommand, EndsWithOneWhereAFaultIsPlanted) {
  for (const std::string plant :
       {"batch-clip --rung 1", "sigma-over-b --rung 2 3 4", "variance --rung 2 3",
        "shared-noise --rung 2", "labels-from-data --rung 5"}) {
    const auto result = audit(kAuditSetting + "--plant " + plant);
    EXPECT_EQ(result.exit_code, 1) << plant << "\n" << result.output;
    EXPECT_NE(result.output.find("\nCAUGHT: rung"), std::string::npos) << result.output;
  }
  const auto reused =
      audit("--m 50 --sigma 1 --rounds 2 --delta 1e-3 --rung 2 --plant reused-noise");
  EXPECT_EQ(reused.exit_code, 1) << reused.output;
}

TEST(PrivacyAuditCommand, RefusesWhatItCannotAudit) {
  for (const auto& [arguments, text] : {
           std::pair{"--m 100 --sigma -1 --rounds 2 --delta 1e-3", "sigma"},
           {"--m 100 --sigma nan --rounds 2 --delta 1e-3", "sigma"},
           {"--sigma 1 --rounds 2 --delta 1e-3", "--m"},
           {"--m 100 --batch 101 --sigma 1 --rounds 2 --delta 1e-3", "101"},
           {"--m 100 --sigma 1 --rounds 2 --delta 0.1", "--allow-large-delta"},
           {"--m 100 --sigma 1 --rounds 2 --sampler shuffle", "no certified epsilon"},
           {"--m 100 --sigma 1 --rounds 2 --adjacency add-remove", "fixed size"},
           {"--m 100 --sigma 1 --rounds 2 --rung 6", "--rung"},
           {"--m 100 --sigma 1 --rounds 2 --plant nothing", "fault: expected one of"},
           {"--m 100 --sigma 1 --rounds 2 --noise simulated --plant reused-noise", "by design"},
       }) {
    const auto result = audit(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_NE(result.output.find(text), std::string::npos) << arguments << "\n" << result.output;
  }
}

class AuditOfAConfig : public CommandTest {
 protected:
  void SetUp() override {
    write_file(dir_ / "c.toml",
               "[data]\nname = \"synthetic\"\n[network]\nagents = 3\ngraph = \"ring\"\n"
               "[algorithm]\nrounds = 4\nbatch = 5\n[run]\nevaluate = \"end\"\n");
  }
};

TEST_F(AuditOfAConfig, CertifiesTheEpsilonOfTheRun) {
  for (const std::string noise : {"simulated", "secure"}) {
    const auto run = porter("run c.toml --out " + noise + " --set privacy.noise=" + noise);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    const auto result =
        porter("privacy audit --config c.toml --rung 1 --json --set privacy.noise=" + noise);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const auto json = nlohmann::json::parse(result.output.substr(result.output.find('{')));
    const auto statement = nlohmann::json::parse(read_file(dir_ / noise / "privacy.json"));
    EXPECT_EQ(json["epsilon"], statement["epsilon"][1]) << noise;
  }
}

// Their releases are not those that the audit makes, so its verdict would be about something else.
TEST_F(AuditOfAConfig, RefusesMethodsThatReleaseSomethingElse) {
  for (const char* method : {"soteriafl-svrg", "ddp-srm", "motef-vr"}) {
    const auto result = porter(
        "privacy audit --config c.toml --set algorithm.compressor=identity --rung 1 --set "
        "algorithm.name=" +
        std::string(method));
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_NE(result.output.find(method), std::string::npos) << result.output;
  }
}

TEST_F(AuditOfAConfig, RefusesAgentsAndRoundsThatDifferAndNoiseThatIsShared) {
  for (const std::string keys :
       {"privacy.phases=2x1.5,2x1", "privacy.budgets=[1,2,3]",
        "data.weigh=agents --set data.split=sizes:5,3,2", "privacy.shape=pairwise"}) {
    const auto result = porter(
        "privacy audit --config c.toml --rung 1 --set algorithm.name=dp-dsgd --set "
        "algorithm.compressor=identity --set " +
        keys);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_NE(result.output.find(keys.substr(0, keys.find('='))), std::string::npos)
        << result.output;
    EXPECT_NE(result.output.find("the audit is of agents"), std::string::npos) << result.output;
  }
}

TEST_F(AuditOfAConfig, TakesCopiesOfImagesFromIt) {
  std::string rows;
  for (int i = 0; i < 120; ++i)
    rows += concat(i % 5, ",0,1,", i % 3, ",2,", i % 2, ',', i % 2, '\n');
  write_file(dir_ / "rows.csv", rows);
  write_file(dir_ / "images.toml",
             "[data]\ntrain = \"rows.csv\"\nimage = \"2x3\"\n[network]\nagents = 3\ngraph = "
             "\"ring\"\n[model]\nname = \"layers\"\nlayers = [\"conv:2x1\", \"tanh\"]\n"
             "[algorithm]\nrounds = 4\nbatch = 5\naugment = \"shift:1x3\"\n[privacy]\n"
             "sigma = 0.4\ncalibration = \"sigma\"\ndelta = 1e-3\n");
  const auto result =
      porter("privacy audit --config images.toml --runs 100 --trainings 100 --json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find('{')));
  EXPECT_EQ(json["augment"], "shift:1x3");
  EXPECT_EQ(json["rungs"].size(), 5U);
}

// Their cost is in the epsilon of the run, and in none that the audit looks at.
TEST_F(AuditOfAConfig, RefusesStatisticsThatAreMeasured) {
  const MeasuredTable table(dir_.path(), 4000);
  write_file(dir_ / "m.toml", measuring_run("[privacy]\nepsilon = 4\n"));
  const auto result = porter("privacy audit --config m.toml --rung 1");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_NE(result.output.find("data.schema: the audit is of rounds"), std::string::npos)
      << result.output;
}

TEST_F(AuditOfAConfig, LeavesOutTheRungThatReadsTrackersWhereThereAreNone) {
  const std::string dsgd =
      "privacy audit --config c.toml --runs 100 --set algorithm.name=dp-dsgd --set "
      "algorithm.compressor=identity";
  const auto all = porter(dsgd);
  EXPECT_EQ(all.exit_code, 0) << all.output;
  EXPECT_NE(all.output.find("rung 4: "), std::string::npos) << all.output;
  EXPECT_NE(all.output.find("on rungs 1, 2, 3, 5"), std::string::npos) << all.output;
  const auto asked = porter(dsgd + " --rung 1 4");
  EXPECT_EQ(asked.exit_code, 2) << asked.output;
  EXPECT_EQ(asked.output.find("rung 1: replay"), std::string::npos) << asked.output;
}

}  // namespace
}  // namespace porter
