// SPDX-License-Identifier: Apache-2.0
// porter sweep as a user meets it, killed and resumed included.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_test.hpp"
#include "io/file.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class SweepCommand : public CommandTest {
 protected:
  SweepCommand() {
    write_file(
        dir_ / "c.toml",
        "[data]\nname = \"synthetic\"\n[network]\nagents = 4\ngraph = \"ring\"\n[algorithm]\n"
        "name = \"porter-gc\"\nrounds = 60\ncompressor = \"random_k:0.3\"\nbatch = 4\n"
        "[run]\nevaluate = \"log:12\"\n[sweep]\nseeds = 2\nhalving = 1\n[sweep.vary]\n"
        "algorithm.step = \"log:0.01..1:3\"\nalgorithm.consensus = [0.1, 0.4]\n");
  }
  CommandResult sweep(const std::string& arguments) { return porter("sweep " + arguments); }
  /// Starts a sweep and kills it after the journal has got so many lines; false if it ended before.
  bool killed_after(std::ptrdiff_t lines, const std::string& out, bool resume) {
    std::vector<std::string> arguments = {"sweep", "c.toml", "--out", out};
    if (resume) arguments.push_back("--resume");
    RunningPorter run(dir_.path(), arguments, "/dev/null");
    const auto journal = dir_ / out / "journal.jsonl";
    const bool there = run.wait_until([&] {
      if (!fs::exists(journal)) return false;
      const auto text = read_file(journal);
      return std::count(text.begin(), text.end(), '\n') >= lines;
    });
    return there && run.stop(SIGKILL) == 128 + SIGKILL;
  }
};

TEST_F(SweepCommand, WritesTheTableTheBestConfigAndThePage) {
  const auto result = sweep("c.toml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const char* file :
       {"sweep.toml", "journal.jsonl", "results.csv", "summary.json", "best.toml", "report.html"})
    EXPECT_TRUE(fs::exists(dir_ / "out" / file)) << file;
  EXPECT_NE(result.output.find("Tuning is not covered by any epsilon"), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("dropped at round 30 of 60"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("\x1b"), std::string::npos) << "no control codes off a terminal";
  const auto page = read_file(dir_ / "out" / "report.html");
  for (const char* part : {"loss by step and consensus", "Not covered by epsilon", "best-cell",
                           "porter sweep c.toml", "algorithm.step"})
    EXPECT_NE(page.find(part), page.npos) << part;
  EXPECT_EQ(page.find("http://"), page.npos) << "the page loads nothing";
  EXPECT_EQ(porter("run out/best.toml --out best").exit_code, 0);
}

TEST_F(SweepCommand, KilledAndResumedItGivesTheSameTable) {
  ASSERT_EQ(sweep("c.toml --out straight --jobs 1").exit_code, 0);
  int kills = 0;
  for (std::ptrdiff_t lines = 1; lines <= 16; lines += 3)
    kills += killed_after(lines, "broken", fs::exists(dir_ / "broken" / "sweep.toml"));
  EXPECT_GT(kills, 0);
  const auto result = sweep("c.toml --out broken --resume --json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const char* file : {"results.csv", "summary.json", "best.toml"})
    EXPECT_EQ(read_file(dir_ / "broken" / file), read_file(dir_ / "straight" / file)) << file;
  EXPECT_EQ(nlohmann::json::parse(result.output)["settings"], 6) << result.output;
}

TEST_F(SweepCommand, WrongUsageExitsWithTwoAndLeavesNothing) {
  expect_refused("sweep ",
                 {
                     {"c.toml --out out --vary algorithm.step", "section.key=VALUES"},
                     {"c.toml --out out --vary algorithm.stepp=1,2", "algorithm.stepp"},
                     {"c.toml --out out --vary algorithm.step=log:1..x:3", "algorithm.step"},
                     {"c.toml --out out --metric speed", "test_accuracy"},
                     {"c.toml --out out --set sweep.sedes=3", "did you mean seeds?"},
                     {"c.toml --out out --seeds 0", "seeds"},
                     {"c.toml --out out --set privacy.epsilon=1", "[privacy]"},
                     {"c.toml --resume", "--out"},
                     {"c.toml --out out --resume", "holds no sweep"},
                 });
}

TEST_F(SweepCommand, WhereNothingFinishesTheReasonIsNamedAndTheRowsAreThere) {
  const auto result = sweep("c.toml --out out --set data.train=missing.csv");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.output.find("missing.csv"), std::string::npos) << result.output;
  const auto csv = read_file(dir_ / "out" / "results.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 6 * 2) << csv;
}

}  // namespace
}  // namespace porter
