// SPDX-License-Identifier: Apache-2.0
// porter privacy as a user meets it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "command_test.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

CommandResult privacy(const std::string& arguments) {
  return run_command(binary_dir() + "/porter privacy " + arguments);
}

nlohmann::json json_of(const std::string& arguments) {
  std::string command = "(";  // GCC 12 warns of "(" + binary_dir()
  command += binary_dir() + "/porter privacy " + arguments + " --json 2>/dev/null)";
  const auto result = run_command(command);
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

TEST(PrivacyCommand, ComposesPhases) {
  const std::string rest = " --m 1000 --batch 20 --delta 1e-5 --rounds 200";
  const auto phased = json_of("sigma --epsilon 0.8 --phases 100x1.25,100x0.8x3" + rest);
  EXPECT_EQ(phased.at("phases"), "100x1.25,100x0.8x3");
  const double sigma = phased.at("sigma");
  const auto cost = [&](double factor) {
    return json_of("epsilon --phases 100x1.25,100x0.8 --sigma " + std::to_string(sigma * factor) +
                   rest)
        .at("epsilon")
        .get<double>();
  };
  EXPECT_LE(cost(1 + 1e-5), 0.8);
  EXPECT_GT(cost(1 - 1e-3), 0.8);
  EXPECT_EQ(json_of("sigma --epsilon 0.8 --phases 50x1,150x1" + rest).at("sigma"),
            json_of("sigma --epsilon 0.8" + rest).at("sigma"));
  for (const char* bad : {"--phases 100x1", "--phases 200", "--sampler shuffle --phases 200x1"})
    EXPECT_EQ(privacy(std::string("epsilon --sigma 1 ") + bad + rest).exit_code, 2) << bad;
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

TEST(PrivacyCommand, CertifiesEpsilonsWhoseExponentialOverflows) {
  const std::string one =
      " --sampler poisson --m 1000 --batch 10 --adjacency replace --sigma 0.001 --rounds 1";
  EXPECT_NEAR(json_of("epsilon --delta 1e-5" + one).at("epsilon"), 5303.44328, 1e-4);
  EXPECT_NEAR(json_of("delta --epsilon 1000" + one).at("delta"), 0.01, 1e-9);
}

TEST(PrivacyCommand, UnderstandsCountsAsPeopleWriteThem) {
  const std::string rest = "epsilon --m 1e4 --batch 1e1 --sigma 1 --delta 1e-6 --rounds ";
  const auto json = json_of(rest + "1e6");
  EXPECT_EQ(json.at("rounds"), 1'000'000);
  EXPECT_EQ(json.at("m"), 10'000);
  for (const char* bad : {"1.5", "1e30", "99999999999999999999", "''", "many", "-1"}) {
    const auto result = privacy(rest + bad);
    EXPECT_EQ(result.exit_code, 2) << bad << '\n' << result.output;
    EXPECT_NE(result.output.find("--rounds"), std::string::npos) << result.output;
  }
}

// An empty value is not a missing one: a default in its place would answer another question.
TEST(PrivacyCommand, RefusesEmptyNumbers) {
  const std::string rest = "epsilon --m 3256 --batch 32 --sigma 0.25 --rounds 500 ";
  for (const char* empty : {"--delta ''", "--clip ''"}) {
    const auto result = privacy(rest + empty);
    EXPECT_EQ(result.exit_code, 2) << empty << '\n' << result.output;
    EXPECT_NE(result.output.find("expected a number, found \"\""), std::string::npos)
        << empty << '\n'
        << result.output;
  }
}

TEST(PrivacyCommand, TakesTheNoiseMultiplierInPlaceOfSigma) {
  const std::string rest = "epsilon --m 3256 --batch 32 --clip 2 --rounds 500 --delta 1e-5 ";
  EXPECT_EQ(json_of(rest + "--sigma 0.25").at("epsilon"),
            json_of(rest + "--noise-multiplier 4").at("epsilon"));
  EXPECT_EQ(json_of(rest + "--noise-multiplier 4").at("sigma"), 0.25);
  for (const char* noise : {"", "--sigma 1 --noise-multiplier 4", "--sigma ''",
                            "--noise-multiplier -1", "--noise-multiplier ''"}) {
    const auto result = privacy(rest + noise);
    EXPECT_EQ(result.exit_code, 2) << noise << '\n' << result.output;
    EXPECT_NE(result.output.find("--"), std::string::npos) << result.output;
  }
}

TEST(PrivacyCommand, ARateNeedsNeitherRecordsNorABatch) {
  const std::string rest = " --sampler poisson --adjacency add-remove --q 0.01 --rounds 1000";
  const auto json = json_of("epsilon --noise-multiplier 1 --delta 1e-5" + rest);
  EXPECT_NEAR(json.at("epsilon"), 1.8283, 1e-3);
  EXPECT_TRUE(json.at("sigma").is_null());
  EXPECT_EQ(json.at("relation"), "add-remove");
  const auto sigma = json_of("sigma --epsilon 1.8283 --delta 1e-5" + rest);
  EXPECT_NEAR(sigma.at("noise_multiplier"), 1, 1e-3);
  const auto refused = privacy("epsilon --sigma 1 --delta 1e-5" + rest);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("--noise-multiplier"), std::string::npos) << refused.output;
}

TEST(PrivacyCommand, CallsAddRemoveWithAPublicNumberOfRecordsZeroOut) {
  const std::string rest = "epsilon --sampler poisson --m 1000 --batch 10 --sigma 1 --rounds 10 ";
  EXPECT_EQ(json_of(rest + "--adjacency add-remove").at("relation"), "zero-out");
  EXPECT_EQ(json_of(rest + "--adjacency replace").at("relation"), "replace");
  EXPECT_NE(privacy(rest + "--adjacency add-remove").output.find("zero-out"), std::string::npos);
}

TEST(PrivacyCommand, LeavesOutARenyiBoundThatDoesNotCountTheSampling) {
  const std::string rest = " --m 1000 --batch 10 --sigma 0.1 --rounds 1000 --delta 1e-5";
  EXPECT_TRUE(json_of("epsilon --sampler poisson --adjacency replace" + rest)
                  .at("epsilon_renyi")
                  .is_null());
  EXPECT_EQ(privacy("epsilon --sampler poisson --adjacency replace" + rest).output.find("Renyi"),
            std::string::npos);
  const auto fixed = json_of("epsilon --m 1000 --batch 10 --sigma 1 --rounds 100 --delta 1e-5");
  EXPECT_LE(fixed.at("epsilon_renyi"), 25 * fixed.at("epsilon").get<double>());
}

TEST(PrivacyCommand, AnswersOrRefusesWhateverIsAsked) {
  const std::string sizes = " --m 1000 --batch 10";
  for (const auto& arguments :
       {"epsilon --sigma 1e-100 --rounds 10" + sizes,
        "epsilon --sigma 1 --rounds 10 --delta 1e-300" + sizes,
        "epsilon --sigma 1 --rounds 9.2e18" + sizes, "sigma --rounds 10 --epsilon 1e-300" + sizes,
        "sigma --rounds 10 --epsilon 1e300" + sizes,
        "delta --sigma 1 --rounds 10 --epsilon 1e300" + sizes}) {
    // Generous for busy machines and sanitizers; they never ended, or took all memory.
    const auto result = run_command("timeout 120 " + binary_dir() + "/porter privacy " + arguments);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << arguments << '\n'
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

class Statement : public CommandTest {};

TEST_F(Statement, LogSummaryPageAndLedgerTellOneEpsilon) {
  write_file(dir_ / "c.toml",
             "[data]\nname = \"synthetic\"\n[network]\nagents = 3\ngraph = \"ring\"\n"
             "[algorithm]\nrounds = 20\nbatch = 8\n"
             "[privacy]\nnoise = \"secure\"\ncalibration = \"accountant\"\nepsilon = 8\n"
             "delta = 1e-6\n");
  const auto run = porter("run c.toml --out out");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const auto statement = nlohmann::json::parse(read_file(dir_ / "out" / "privacy.json"));
  const auto ledger =
      nlohmann::json::parse(porter("privacy ledger out/ledger/agent-0.ledger --json").output);
  const auto epsilon = statement.at("guarantee").at("epsilon").get<double>();
  EXPECT_EQ(statement.at("epsilon").at(1), epsilon);
  EXPECT_EQ(ledger.at("spent_epsilon"), epsilon);
  const auto summary = nlohmann::json::parse(read_file(dir_ / "out" / "summary.json"));
  EXPECT_EQ(summary.at("privacy"), statement);
  EXPECT_EQ(summary.at("epsilon"), statement.at("epsilon"));
  const auto sentence = statement.at("statement").get<std::string>();
  EXPECT_NE(sentence.find(concat(", ", epsilon, "]")), std::string::npos) << sentence;
  EXPECT_NE(run.output.find("privacy: " + sentence + "\n"), std::string::npos) << run.output;
  EXPECT_EQ(nlohmann::json::parse(porter("compare out --json").output).at("privacy").at(0),
            (nlohmann::json{{"statement", sentence}, {"guaranteed", true}, {"runs", {"out"}}}));
  ASSERT_EQ(porter("report out --out page.html").exit_code, 0);
  const auto page = read_file(dir_ / "page.html");
  EXPECT_NE(page.find("<strong>Guarantee</strong><span class=\"runs\">out</span><p>" + sentence),
            std::string::npos);
  EXPECT_LE(ledger.at("spent_epsilon"), 8);
  EXPECT_TRUE(statement.at("warnings").is_array());
}

TEST_F(Statement, SaysThatThereIsNoNoiseAndWhatTheTerminalWarnsOf) {
  write_file(dir_ / "c.toml",
             "[data]\nname = \"synthetic\"\n[network]\nagents = 3\ngraph = \"ring\"\n"
             "[algorithm]\nname = \"beer\"\nrounds = 5\n");
  ASSERT_EQ(porter("run c.toml --out silent").exit_code, 0);
  const auto silent = read_file(dir_ / "silent" / "privacy.json");
  EXPECT_EQ(silent.find("simulated"), std::string::npos) << silent;
  EXPECT_NE(silent.find("no noise is added"), std::string::npos) << silent;

  const auto loud = porter(
      "run c.toml --out loud --set algorithm.name=porter-dp --set privacy.sigma=0.1 "
      "--set privacy.delta=0.01 --set algorithm.batch=4 --set privacy.sampler=poisson "
      "--set privacy.adjacency=add-remove");
  ASSERT_EQ(loud.exit_code, 0) << loud.output;
  const auto statement = nlohmann::json::parse(read_file(dir_ / "loud" / "privacy.json"));
  EXPECT_EQ(statement.at("relation"), "zero-out");
  ASSERT_FALSE(statement.at("warnings").empty());
  for (const auto& warning : statement.at("warnings"))
    EXPECT_NE(loud.output.find(warning.get<std::string>()), std::string::npos) << warning;
}

TEST(PrivacyCommand, WarnsOfAWeakDelta) {
  const auto result = privacy("epsilon --m 100 --batch 1 --rounds 10 --sigma 1 --delta 5e-3");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("warning"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace porter
