// SPDX-License-Identifier: Apache-2.0
// porter reproduce as a user meets it.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "command.hpp"
#include "io/file.hpp"
#include "real_data.hpp"
#include "sanitized.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class ReproduceCommand : public testing::Test {
 protected:
  CommandResult porter(const std::string& arguments) {
    const auto data = real_data_folder();
    return run_command("cd " + dir_.path().string() + " && " +
                       (data ? "PORTER_DATA=" + data->string() + " " : "") + binary_dir() +
                       "/porter reproduce " + arguments);
  }
  // The names of the list.
  std::vector<std::string> names() {
    std::istringstream lines(porter("--list").output);
    std::vector<std::string> out;
    for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
      std::istringstream words(line);
      words >> out.emplace_back();
    }
    return out;
  }
  TempDir dir_;
};

TEST_F(ReproduceCommand, ListsWhatThereIs) {
  const auto list = porter("");
  EXPECT_EQ(list.exit_code, 0);
  for (const char* name : {"fig1", "table1", "privacy", "fig2a"})
    EXPECT_NE(list.output.find(std::string("  ") + name + " "), std::string::npos) << list.output;
  EXPECT_EQ(porter("--list").output, list.output);
  EXPECT_FALSE(fs::exists(dir_ / "runs")) << "a list writes nothing";
}

TEST_F(ReproduceCommand, RefusesWhatItDoesNotKnow) {
  const auto unknown = porter("fig9");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.output.find("found \"fig9\""), std::string::npos) << unknown.output;
  EXPECT_EQ(porter("table1 --alpha 1").exit_code, 2);
  EXPECT_EQ(porter("fig1 --seeds 0").exit_code, 2);
  EXPECT_EQ(porter("missing.toml").exit_code, 1);
  EXPECT_FALSE(fs::exists(dir_ / "runs"));
}

TEST_F(ReproduceCommand, EverythingQuickly) {
  // Sanitizers see one of each kind.
  const std::vector<std::string> some = {"fig1", "table1", "fig2a", "theory-rounds", "soteria-a9a"};
  const auto all = kSanitized ? some : names();
  std::string what;
  for (const auto& name : some) what += name + ' ';
  const auto first = porter((kSanitized ? what : "all") + std::string(" --quick --out out"));
  ASSERT_EQ(first.exit_code, 0) << first.output;
  EXPECT_EQ(first.output.find("\x1b"), std::string::npos) << "no control codes off a terminal";
  ASSERT_GE(all.size(), 4U);
  const auto index = read_file(dir_ / "out/index.html");
  for (const auto& name : all) {
    SCOPED_TRACE(name);
    const auto folder = dir_ / "out" / name;
    for (const char* file : {"index.html", "summary.json"}) EXPECT_TRUE(fs::exists(folder / file));
    EXPECT_NE(index.find("href=\"" + name + "/index.html\""), index.npos);
  }
  const auto page = read_file(dir_ / "out/fig2a/index.html");
  EXPECT_NE(page.find("Quick:"), page.npos);
  EXPECT_EQ(page.find("Built-in data") == page.npos, real_data_folder().has_value());

  const auto second = porter("fig2a --quick --out out");
  EXPECT_NE(second.output.find("  0 runs trained"), std::string::npos) << second.output;
  EXPECT_EQ(read_file(dir_ / "out/fig2a/index.html"), page);
}

TEST_F(ReproduceCommand, WritesPicturesWhereAToolIsAtHand) {
  EXPECT_EQ(porter("fig1 --out plain").exit_code, 0);
  const auto tool = dir_ / "bin/rsvg-convert";
  fs::create_directory(tool.parent_path());
  write_file(tool, "#!/bin/sh\n[ \"$2\" = --output ] && cp \"$4\" \"$3\"\n");
  fs::permissions(tool, fs::perms::owner_all);
  EXPECT_EQ(run_command("cd " + dir_.path().string() + " && PATH=" + (dir_ / "bin").string() +
                        ":$PATH " + binary_dir() + "/porter reproduce fig1 --out drawn")
                .exit_code,
            0);
  EXPECT_TRUE(fs::exists(dir_ / "drawn/fig1/figures/clipping.png"));
}

TEST_F(ReproduceCommand, TwoFilesOfOneNameAreRefused) {
  const std::string study =
      "title = \"Mine\"\nabout = \"x\"\nkind = \"curves\"\nseeds = 1\n[config]\n"
      "algorithm = { name = \"porter-gc\", rounds = 5 }\n[curves]\nmetrics = [\"loss\"]\n"
      "[[series]]\nlabel = \"one\"\n";
  for (const char* folder : {"a", "b"}) {
    fs::create_directory(dir_ / folder);
    write_file(dir_ / folder / "x.toml", study);
  }
  const auto both = porter("a/x.toml b/x.toml --out out");
  EXPECT_EQ(both.exit_code, 2) << both.output;
  EXPECT_NE(both.output.find("b/x.toml"), std::string::npos) << both.output;
  ASSERT_EQ(porter("a/x.toml a/x.toml --out out").exit_code, 0);
  EXPECT_NE(read_file(dir_ / "out/x/index.html").find("porter reproduce a/x.toml"),
            std::string::npos);
}

TEST_F(ReproduceCommand, RunsAFileOfTheUser) {
  write_file(dir_ / "mine.toml",
             "title = \"Mine\"\nabout = \"x\"\nkind = \"curves\"\nseeds = 1\n[config]\n"
             "algorithm = { name = \"porter-gc\", rounds = 5 }\n[curves]\nmetrics = [\"loss\"]\n"
             "[[series]]\nlabel = \"one\"\n[[series]]\nlabel = \"wild\"\nset = { "
             "\"algorithm.name\" = \"beer\", \"algorithm.step\" = 1e200 }\n");
  const auto result = porter("mine.toml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("1 of 2 runs did not finish"), std::string::npos) << result.output;
  // Its runs can be held against others.
  const auto table = run_command("cd " + dir_.path().string() + " && " + binary_dir() +
                                 "/porter compare out --csv");
  EXPECT_EQ(table.exit_code, 0) << table.output;
  for (const char* part : {"\n\"one, seed 1\",", "\n\"wild, seed 1\",", "2 runs of a study"})
    EXPECT_NE(table.output.find(part), std::string::npos) << part << "\n" << table.output;
  // A run of the page is repeated by the command that stands there.
  const auto again = run_command("cd " + (dir_ / "out/mine").string() + " && " + binary_dir() +
                                 "/porter run configs/one.toml --set run.seed=1 --out ../one");
  ASSERT_EQ(again.exit_code, 0) << again.output;
  const auto metrics = read_file(dir_ / "out/one/metrics.csv");
  std::istringstream runs(read_file(dir_ / "out/mine/runs.csv"));
  std::string line;
  std::getline(runs, line);
  std::getline(runs, line);
  const std::string prefix = "one,,1,finished,,5,";
  ASSERT_TRUE(line.starts_with(prefix)) << line;
  const auto loss = line.substr(prefix.size(), line.find(',', prefix.size()) - prefix.size());
  EXPECT_NE(metrics.find("\n5," + loss + ","), metrics.npos) << loss << "\n" << metrics;
}

}  // namespace
}  // namespace porter
