// SPDX-License-Identifier: Apache-2.0
// porter privacy as a user meets it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "command.hpp"

namespace porter {
namespace {

CommandResult privacy(const std::string& arguments) {
  return run_command(binary_dir() + "/porter privacy " + arguments);
}

nlohmann::json json_of(const std::string& arguments) {
  const auto result =
      run_command("(" + binary_dir() + "/porter privacy " + arguments + " --json 2>/dev/null)");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return nlohmann::json::parse(result.output);
}

const std::string kPaper = "--sampler fixed --adjacency replace --m 3256 --batch 1 --clip 1 ";

TEST(PrivacyCommand, PrintsTheCertifiedEpsilonOfThePapersNoise) {
  const auto json = json_of("epsilon " + kPaper +
                            "--sigma 2.5526 --rounds 1000 --delta 1e-3 --allow-large-delta");
  EXPECT_NEAR(json.at("epsilon"), 0.010866, 2e-5);
  EXPECT_NEAR(json.at("epsilon_lower"), 0.007727, 2e-5);
  EXPECT_NE(json.at("method").get<std::string>().find("symmetrised"), std::string::npos);
}

TEST(PrivacyCommand, SigmaIsTheDeviationOfTheMean) {
  // z = sigma b / clip: 0.25 * 32 / 2 = 0.125 * 32 / 1.
  const std::string rest = " --m 3256 --batch 32 --rounds 500 --delta 1e-5";
  EXPECT_EQ(json_of("epsilon --sigma 0.25 --clip 2" + rest).at("epsilon"),
            json_of("epsilon --sigma 0.125 --clip 1" + rest).at("epsilon"));
}

TEST(PrivacyCommand, SigmaEpsilonAndDeltaAgree) {
  const std::string rest = " --m 1000 --batch 20 --clip 0.5 --rounds 300";
  const double sigma = json_of("sigma --epsilon 0.8 --delta 1e-5" + rest).at("sigma");
  const auto with = " --sigma " + std::to_string(sigma * (1 + 1e-6)) + rest;
  EXPECT_LE(json_of("epsilon --delta 1e-5" + with).at("epsilon"), 0.8);
  EXPECT_NEAR(json_of("delta --epsilon 0.8" + with).at("delta"), 1e-5, 2e-7);
}

TEST(PrivacyCommand, TabulatesThePapersClaims) {
  const auto cells = json_of("table");
  ASSERT_EQ(cells.size(), 16U);
  EXPECT_NEAR(cells[4].at("epsilon_lower"), 77.64, 0.1);
  EXPECT_EQ(cells[4].at("claim_is_broken"), true);
}

TEST(PrivacyCommand, TheTableOfTheDocumentationIsTheCommands) {
  std::ifstream file(source_dir() + "/docs/privacy.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto output = privacy("table --markdown").output;
  const auto table = output.substr(0, output.find("\n\n") + 1);
  EXPECT_NE(table.find("| a9a (m = 3256) | 0.01 |"), std::string::npos);
  EXPECT_NE(page.find(table), std::string::npos) << table;
}

TEST(PrivacyCommand, RefusesWrongUsageWithTwo) {
  const std::string good = "epsilon --m 100 --batch 1 --rounds 10 ";
  const struct {
    std::string arguments, said;
  } cases[] = {
      {good + "--sigma -1", "--sigma"},
      {good + "--sigma nan", "--sigma"},
      {good + "--sigma 1 --clip 0", "--clip"},
      {good + "--sigma 1 --delta 0.01", "--allow-large-delta"},
      {good + "--sigma 1 --delta nan", "--delta"},
      {good + "--sigma 1 --sampler poisson --q 0", "--q"},
      {good + "--sigma 1 --q 0.1", "Poisson"},
      {good + "--sigma 1 --adjacency add-remove", "replace"},
      {"epsilon --m 100 --batch 101 --rounds 10 --sigma 1", "--batch"},
      {"epsilon --m -5 --batch 1 --rounds 10 --sigma 1", "--m"},
      {"epsilon --m 100 --batch 1 --rounds 0 --sigma 1", "--rounds"},
      {"sigma --m 100 --batch 1 --rounds 10 --epsilon 0", "epsilon"},
      {"delta --m 100 --batch 1 --rounds 10 --sigma 1 --epsilon -1", "epsilon"},
  };
  for (const auto& c : cases) {
    const auto result = privacy(c.arguments);
    EXPECT_EQ(result.exit_code, 2) << c.arguments << '\n' << result.output;
    EXPECT_NE(result.output.find(c.said), std::string::npos) << c.arguments << '\n'
                                                             << result.output;
  }
}

TEST(PrivacyCommand, RefusesSamplersWithoutAmplificationAndSaysTheirValue) {
  const std::string rest = " --m 100 --batch 10 --rounds 20 --sigma 1";
  // Two passes: epsilon of two Gaussian steps with z = 10.
  const auto two = json_of("epsilon --sampler full --m 100 --batch 100 --rounds 2 --sigma 0.1");
  const auto shuffle = privacy("epsilon --sampler shuffle" + rest);
  EXPECT_EQ(shuffle.exit_code, 2);
  const auto digits = std::to_string(two.at("epsilon").get<double>()).substr(0, 5);
  EXPECT_NE(shuffle.output.find("epsilon = " + digits), std::string::npos) << shuffle.output;
  const auto repeated = privacy("epsilon --sampler with-replacement" + rest);
  EXPECT_EQ(repeated.exit_code, 2);
  EXPECT_NE(repeated.output.find("Without amplification: epsilon = "), std::string::npos);
}

TEST(PrivacyCommand, WarnsOfAWeakDelta) {
  const auto result = privacy("epsilon --m 100 --batch 1 --rounds 10 --sigma 1 --delta 5e-3");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("warning"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace porter
