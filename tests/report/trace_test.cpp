// SPDX-License-Identifier: Apache-2.0
#include "report/trace.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "markup.hpp"
#include "porter/core/error.hpp"
#include "report/agent_state.hpp"
#include "sample_run.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "no error";
}

TEST(Metrics, KeepsEmptyCellsApartFromNonFiniteOnes) {
  const auto metrics = parse_metrics("round,loss,epsilon\n0,0.5,\n7,nan,1e-3\n8,inf,\n", "m.csv");
  EXPECT_EQ(metrics.names, (std::vector<std::string>{"round", "loss", "epsilon"}));
  EXPECT_EQ(metrics.rows(), 3U);
  EXPECT_EQ(*metrics.find("epsilon"), (Metrics::Column{std::nullopt, 1e-3, std::nullopt}));
  EXPECT_TRUE(std::isnan(*(*metrics.find("loss"))[1]));
  EXPECT_TRUE(std::isinf(*(*metrics.find("loss"))[2]));
  EXPECT_EQ(metrics.find("utility"), nullptr);
}

TEST(Metrics, ReadsAHeaderAloneAndWindowsLines) {
  EXPECT_EQ(parse_metrics("round,loss\n", "m.csv").rows(), 0U);
  EXPECT_EQ(parse_metrics("round,loss\r\n1,2\r\n", "m.csv").find("loss")->front(), 2.0);
}

TEST(Metrics, RefusesWhatIsNotATableAndNamesTheLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "m.csv: the file is empty"},
      {"loss\n1\n", "m.csv:1: expected a column 'round'"},
      {"round,\n", "m.csv:1: a column has no name"},
      {"round,a,a\n", "m.csv:1: the column 'a' stands there twice"},
      {"round,loss\n1,2\n3\n", "m.csv:3: expected 2 cells, found 1"},
      {"round,loss\n1,2,3\n", "m.csv:2: expected 2 cells, found 3"},
      {"round,loss\n\n", "m.csv:2: expected 2 cells, found 1"},
      {"round,loss\n1,x\n", "m.csv:2: column 'loss': expected a number or nothing, found 'x'"},
      {"round,loss\n1,1.5 \n",
       "m.csv:2: column 'loss': expected a number or nothing, found '1.5 '"},
      {"round,loss\n,1\n", "m.csv:2: column 'round': expected a whole number"},
      {"round,loss\n-1,1\n", "m.csv:2: column 'round': expected a whole number"},
      {"round,loss\ninf,1\n", "m.csv:2: column 'round': expected a whole number"},
      {"round,loss\n1,1\n1,1\n", "m.csv:3: column 'round': expected more than 1, found 1"},
      {"round,loss\n1,0.1", "m.csv:2: the line does not end: the file is cut off"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(error_of([&, &text = text] { parse_metrics(text, "m.csv"); }), message) << text;
}

TEST(Trace, ReadsARunFolder) {
  const TempDir dir;
  write_run(dir / "a",
            R"({"name": "first", "algorithm": "porter-dp", "status": "finished", "k": null,
    "agents": 10, "rho": 0.048, "privacy": "simulated\u001b[31m", "epsilon": [0.9, 1.0],
    "last": {"loss": 1}})");
  write_file(dir / "a" / "config.toml", "[run]\n");
  const auto trace = load_trace(dir / "a" / "");
  EXPECT_EQ(trace.name, "first");
  EXPECT_EQ(trace.status, "finished");
  EXPECT_EQ(trace.privacy.sentence, "simulated [31m");  // no control characters
  EXPECT_EQ(trace.privacy.epsilon->lower, 0.9);
  EXPECT_EQ(trace.privacy.epsilon->upper, 1.0);
  EXPECT_EQ(trace.number("agents"), 10);
  EXPECT_EQ(trace.number("rho"), 0.048);
  EXPECT_EQ(trace.number("algorithm"), std::nullopt);
  EXPECT_FALSE(trace.facts.contains("k"));
  EXPECT_EQ(trace.last("loss"), 0.4);
  EXPECT_EQ(trace.config, "[run]\n");
  EXPECT_EQ(trace.graph_svg, "");
}

TEST(Trace, NeedsOnlyTheMetrics) {
  const TempDir dir;
  write_run(dir / "killed", "{}");
  std::filesystem::remove(dir / "killed" / "summary.json");
  const auto trace = load_trace(dir / "killed");
  EXPECT_EQ(trace.name, "killed");
  EXPECT_EQ(trace.status, "unfinished");
  EXPECT_FALSE(trace.privacy.epsilon);
  EXPECT_FALSE(trace.privacy.guaranteed);
}

TEST(Trace, RefusesADamagedSummary) {
  const TempDir dir;
  for (const char* summary : {"", "{", "[]", R"({"epsilon": [1]})",
                              R"({"privacy": {"statement": "certified", "noise": "secure"}})"}) {
    write_run(dir / "a", summary);
    EXPECT_TRUE(contains(error_of([&] { load_trace(dir / "a"); }), "summary.json")) << summary;
  }
}

TEST(Trace, OfAStrangerNeitherOverflowsTheStackNorWaits) {
  const TempDir dir;
  const std::string deep(500'000, '[');
  write_run(dir / "a", R"({"privacy": {"a": )" + deep + std::string(deep.size(), ']') + "}}");
  EXPECT_TRUE(contains(error_of([&] { load_trace(dir / "a"); }), "nested too deep"));
  for (const char* name : {"summary.json", "config.toml", "graph.svg", "status.json"}) {
    std::filesystem::remove(dir / "a" / name);
    ASSERT_EQ(::mkfifo((dir / "a" / name).c_str(), 0600), 0) << name;
  }
  EXPECT_EQ(load_trace(dir / "a").status, "unfinished");
  EXPECT_FALSE(load_agent_state(dir / "a"));
}

TEST(Trace, TakesTheVerdictFromTheStatementAndNeverFromASentence) {
  const TempDir dir;
  PrivacyStatement statement;
  statement.sentence = "translated: nothing here is simulated";
  statement.guaranteed = true;
  statement.noise = NoiseSource::secret;
  statement.sigma = 2;
  statement.clip = "smooth:1";
  statement.delta = 1e-5;
  statement.epsilon = {{.lower = 0.9, .upper = 1.0, .method = "m"}};
  write_run(dir / "new", R"({"epsilon": [7, 8], "privacy": )" + statement_json(statement) + "}");
  const auto trace = load_trace(dir / "new");
  EXPECT_TRUE(trace.privacy.guaranteed);
  EXPECT_EQ(trace.privacy.epsilon->upper, 1.0);
  EXPECT_EQ(trace.privacy.sentence, statement.sentence);
  // What release 0.1 wrote.
  write_run(dir / "old",
            R"({"sigma": 2, "epsilon": [0.9, 1.0], "privacy": "secret noise: certified"})");
  const auto old = load_trace(dir / "old");
  EXPECT_FALSE(old.privacy.guaranteed);
  EXPECT_EQ(old.privacy.epsilon->upper, 1.0);
}

TEST(Trace, WhatIsBeingWrittenMayEndInTheMiddleOfALine) {
  const TempDir dir;
  write_run(dir / "a", "{}");
  write_file(dir / "a" / "metrics.csv", kSampleMetrics + "200,0.3,0.1");
  EXPECT_TRUE(contains(error_of([&] { load_trace(dir / "a"); }), "the file is cut off"))
      << "a run that has ended";
  std::filesystem::remove(dir / "a" / "summary.json");
  EXPECT_EQ(load_trace(dir / "a").last("round"), 100);
}

TEST(Trace, KnowsTheFolderOfAnAgent) {
  const TempDir dir;
  write_run(dir / "a", "{}");
  write_file(dir / "a" / "config.toml", "[run]\nengine = \"tls\"\n");
  EXPECT_FALSE(load_trace(dir / "a").agent) << "a cluster's: it has figures of the average";
  write_file(dir / "a" / "metrics.csv", "round,bits_per_agent\n0,0\n9,800\n");
  EXPECT_TRUE(load_trace(dir / "a").agent);
}

// A mean over rounds needs many of them.
TEST(Trace, UtilityNeedsManyEvaluationsOrAllRounds) {
  const auto with_rounds = [](const std::vector<int>& rounds) {
    std::string text = "round,utility\n";
    for (const int round : rounds) text += std::to_string(round) + ",1\n";
    return sample_trace("a", text);
  };
  EXPECT_TRUE(with_rounds({0, 1, 2, 3}).has_utility()) << "every round";
  EXPECT_FALSE(with_rounds({0, 1000}).has_utility());
  EXPECT_FALSE(with_rounds({}).has_utility());
  std::vector<int> rounds = {0, 1000};
  for (std::size_t i = 0; i < kEvaluationsForUtility; ++i) {
    EXPECT_FALSE(with_rounds(rounds).has_utility()) << i;
    rounds.insert(rounds.end() - 1, static_cast<int>(10 + i));
  }
  EXPECT_TRUE(with_rounds(rounds).has_utility());
  auto last_only = with_rounds({1000});
  last_only.evaluations = 12;
  EXPECT_TRUE(last_only.has_utility());
}

}  // namespace
}  // namespace porter
