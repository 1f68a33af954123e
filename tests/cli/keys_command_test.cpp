// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

CommandResult keys(const TempDir& dir, const std::string& arguments) {
  return run_command("cd " + dir.path().string() + " && " + binary_dir() + "/porter keys " +
                     arguments);
}

TEST(KeysCommand, MakesIssuesAndShows) {
  const TempDir dir;
  EXPECT_EQ(keys(dir, "init k --name 'Our consortium'").exit_code, 0);
  EXPECT_EQ(keys(dir, "issue k hospital-a hospital-b --days 90").exit_code, 0);
  const auto shown = keys(dir, "show k");
  EXPECT_EQ(shown.exit_code, 0);
  for (const auto* part : {"Our consortium (the authority)", "hospital-a\n",
                           "hospital-b.crt, with its key", "valid from", "SHA-256 "})
    EXPECT_NE(shown.output.find(part), std::string::npos) << part << " in\n" << shown.output;
  const auto json = nlohmann::json::parse(keys(dir, "show k --json").output);
  ASSERT_EQ(json.size(), 3U);
  EXPECT_EQ(json[1]["name"], "hospital-a");
  EXPECT_EQ(json[1]["problems"].size(), 0U);
}

TEST(KeysCommand, FailsWhereAKeyDoesNotFit) {
  const TempDir dir;
  keys(dir, "init k");
  keys(dir, "issue k a b");
  run_command("cp " + (dir / "k/a.key").string() + " " + (dir / "k/b.key").string());
  const auto shown = keys(dir, "show k");
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_NE(shown.output.find("PROBLEM: the key k/b.key does not fit"), std::string::npos)
      << shown.output;
}

TEST(KeysCommand, RefusesWrongUsage) {
  const TempDir dir;
  EXPECT_EQ(keys(dir, "").exit_code, 2);
  EXPECT_EQ(keys(dir, "issue k a").exit_code, 2);
  EXPECT_EQ(keys(dir, "init k --days 0").exit_code, 2);
  EXPECT_EQ(keys(dir, "init k").exit_code, 0);
  const auto again = keys(dir, "init k");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.output.find("ca.key exists"), std::string::npos) << again.output;
  EXPECT_NE(again.output.find("--force replaces"), std::string::npos) << again.output;
  EXPECT_EQ(keys(dir, "init k --force").exit_code, 0);
  EXPECT_EQ(keys(dir, "issue k A").exit_code, 2);
  EXPECT_EQ(keys(dir, "show elsewhere").exit_code, 2);
}

}  // namespace
}  // namespace porter
