// SPDX-License-Identifier: Apache-2.0
// porter privacy plan as a user meets it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command.hpp"

namespace porter {
namespace {

CommandResult plan(const std::string& arguments) {
  return run_command(binary_dir() + "/porter privacy plan " + arguments);
}

const std::string kPlanSetting = "--m 200 --agents 10 --dim 1000 --epsilon 4 --delta 1e-5 ";
const std::string kQuick = kPlanSetting + "--sampler full ";

TEST(PlanCommand, TakesAlphaFromTheGraphAndBytesFromThePayload) {
  const auto result = plan(kPlanSetting + "--graph complete --compressor random_k:0.05 --json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_NEAR(json.at("alpha"), 0, 1e-9);
  EXPECT_EQ(json.at("rho"), 0.05);
  for (const auto& cell : json.at("cells"))  // 50 floats and a checksum, twice a round
    EXPECT_EQ(cell.at("bytes_per_agent"), 2 * 204 * cell.at("rounds").get<double>());
  EXPECT_GT(json.at("recommended").at("sigma"), 0);
  EXPECT_EQ(json.at("conditions_paper").size(), 6U);
}

TEST(PlanCommand, ShowsEveryPartToPeople) {
  const auto result = plan(kQuick + "--alpha 0.5 --compressor top_k:0.1");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const auto* part : {"sigma", "noise-to-signal", "sent per agent", "phi_m", "orders",
                           "epsilon <= T / m^2", "recommended", "heuristic"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
}

TEST(PlanCommand, ABudgetOfBytesGivesGossipStepsAndMessages) {
  const auto result = plan(kQuick + "--graph ring --bytes 200kB --unlike --json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("bytes"), 200'000);
  EXPECT_EQ(json.at("agents_are"), "unlike");
  const auto& best = json.at("recommended");
  const double values = best.at("kept"), steps = best.at("gossip"), rounds = best.at("rounds");
  EXPECT_EQ(best.at("bytes_per_agent"), rounds * steps * 2 * (4 * values + 4));
  EXPECT_LE(best.at("bytes_per_agent"), 200'000);
  EXPECT_LE(best.at("epsilon"), 4);
  EXPECT_GE(json.at("choices").size(), 3U);

  const auto text = plan(kQuick + "--bytes 2e5");
  ASSERT_EQ(text.exit_code, 0) << text.output;
  for (const auto* part : {"200 kB", "not given: a complete graph", "sweeps", "recommended b =",
                           "porter run CONFIG.toml --set algorithm.name=porter-sweep", "heuristic"})
    EXPECT_NE(text.output.find(part), std::string::npos) << part << "\n" << text.output;
}

TEST(PlanCommand, SaysPlainlyWhenThereIsNoHope) {
  const auto result = plan(
      "--m 200 --agents 10 --dim 1000000 --epsilon 0.1 --delta 0.01 --allow-large-delta "
      "--sampler full --alpha 0.5 --rho 1");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const auto* part : {"HOPELESS    delta", "HOPELESS    phi_m", "HOPELESS    the noise"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
}

TEST(PlanCommand, RefusesBadInputByName) {
  const std::pair<std::string, std::string> cases[] = {
      {kQuick + "--alpha 1 --rho 1", "alpha"},
      {kQuick + "--alpha nan --rho 1", "alpha"},
      {kQuick + "--alpha 0 --rho 0", "rho"},
      {kQuick + "--rho 1", "--graph"},
      {kQuick + "--alpha 0", "--compressor"},
      {kQuick + "--bytes 4XB", "--bytes"},
      {kQuick + "--bytes -4MB", "--bytes"},
      {kQuick + "--bytes nan", "--bytes"},
      {kQuick + "--bytes 10", "cannot carry one coordinate"},
      {kPlanSetting + "--rounds 1000 --bytes 500", "in each of 1000 rounds; expected"},
      {kQuick + "--bytes 4MB --rho 1", "excludes"},
      {kQuick + "--bytes 4MB --compressor top_k:0.1", "excludes"},
      {kQuick + "--alpha 0 --rho 1 --unlike", "--bytes"},
      {kQuick + "--alpha 0 --graph ring --rho 1", "excludes"},
      {kQuick + "--alpha 0 --compressor qsgd:2", "no contraction"},
      {kQuick + "--alpha 0 --rho 1 --clip -1", "clip"},
      {kQuick + "--alpha 0 --rho 1 --rounds 0", "--rounds"},
      {kPlanSetting + "--alpha 0 --rho 1 --batch 201", "batch"},
      {kPlanSetting + "--alpha 0 --rho 1 --adjacency add-remove", "--sampler fixed"},
      {kPlanSetting + "--alpha 0 --rho 1 --sampler shuffle", "Without amplification: sigma = "},
      {kPlanSetting + "--alpha 0 --rho 1 --sampler with-replacement", "no certified amplification"},
      {"--m -1 --agents 10 --dim 10 --epsilon 1 --delta 1e-5 --alpha 0 --rho 1", "--m"},
      {"--m 200 --agents 10 --dim 10 --epsilon 1 --delta 0.01 --alpha 0 --rho 1", "1/m"},
  };
  for (const auto& [arguments, part] : cases) {
    const auto result = plan(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(part), std::string::npos) << arguments << "\n" << result.output;
  }
}

}  // namespace
}  // namespace porter
