// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command.hpp"

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

}  // namespace
}  // namespace porter
