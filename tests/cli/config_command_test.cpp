// SPDX-License-Identifier: Apache-2.0
// porter config, porter list and porter completion as a user meets them.
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_test.hpp"
#include "io/file.hpp"
#include "paths.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/config/config.hpp"

namespace porter {
namespace {

using Json = nlohmann::json;

class ConfigCommand : public CommandTest {
 protected:
  std::string output(const std::string& arguments) {
    const auto result = porter(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.output;
    return result.output;
  }
  bool completes(const std::string& words, const std::string& word) {
    std::istringstream lines(output("completion words -- " + words));
    for (std::string line; std::getline(lines, line);)
      if (line == word) return true;
    return false;
  }
};

TEST_F(ConfigCommand, TheDocumentHasEveryKey) {
  const auto document = read_file(std::filesystem::path(source_dir()) / "docs" / "config.md");
  EXPECT_TRUE(document.ends_with(output("config --markdown")))
      << "docs/config.md must end with what `porter config --markdown` prints";
}

TEST_F(ConfigCommand, PrintsEveryKeyWithItsDefault) {
  const auto text = output("config");
  const auto keys = Json::parse(output("config --json"));
  EXPECT_EQ(keys.size(), config_help().size());
  for (const auto& key : keys) {
    EXPECT_FALSE(key.at("help").get<std::string>().empty()) << key;
    EXPECT_FALSE(key.at("type").get<std::string>().empty()) << key;
    EXPECT_NE(text.find(key.at("help").get<std::string>()), std::string::npos) << key;
  }
  EXPECT_NE(text.find("mask = \"own\""), std::string::npos);
}

TEST_F(ConfigCommand, PrintsAConfigResolved) {
  write_file(dir_ / "c.toml", "[algorithm]\nname = \"porter-gc\"\n");
  const auto text = output("config c.toml --set algorithm.step=0.5");
  EXPECT_EQ(text, to_toml(parse_config("[algorithm]\nname = \"porter-gc\"\nstep = 0.5", "c")));
  const auto values = Json::parse(output("config c.toml --json"));
  EXPECT_EQ(values.at("algorithm").at("clip_target"), "batch");
  EXPECT_EQ(values.at("network").at("agents"), 10);
  write_file(dir_ / "line.toml", "[data]\ntrain = \"a\\nb.csv\"\n");
  const auto train = Json::parse(output("config line.toml --json")).at("data").at("train");
  EXPECT_TRUE(train.get<std::string>().ends_with("a\nb.csv")) << train;
  expect_refused("config ", {{"c.toml --set algorithm.step=0", "algorithm.step"},
                             {"--set algorithm.step=1", "config"}});
}

TEST_F(ConfigCommand, ListsNames) {
  const auto text = output("list algorithms");
  for (const auto& info : algorithm_table())
    EXPECT_NE(text.find(info.name + " "), std::string::npos) << info.name;
  for (const std::string kind : {"compressors", "models", "graphs", "mixings", "data"})
    EXPECT_GE(Json::parse(output("list " + kind + " --json")).size(), 4U) << kind;
  EXPECT_EQ(Json::parse(output("list --json")).size(), 6U);
  EXPECT_NE(output("list").find("algorithms\n  porter-dp "), std::string::npos) << output("list");
  expect_refused("list ", {{"animals", "algorithms, compressors"}});
}

TEST_F(ConfigCommand, CompletesWords) {
  EXPECT_TRUE(completes("\"\"", "privacy"));
  EXPECT_TRUE(completes("privacy \"\"", "epsilon"));
  EXPECT_TRUE(completes("privacy epsilon --noi", "--noise-multiplier"));
  EXPECT_TRUE(completes("list al", "algorithms"));
  EXPECT_TRUE(completes("run c.toml --set algo", "algorithm.name="));
  EXPECT_TRUE(completes("run c.toml --set algorithm.name =", "beer"));
  EXPECT_TRUE(completes("run c.toml --set privacy.noise = se", "secure"));
  const auto script = output("completion bash");
  write_file(dir_ / "script", script);
  const auto shell = run_command(
      "bash -c 'PATH=" + binary_dir() + ":$PATH; source " + (dir_ / "script").string() +
      "; COMP_WORDS=(porter privacy eps); COMP_CWORD=2; _porter; echo \"${COMPREPLY[@]}\"'");
  EXPECT_EQ(shell.output, "epsilon\n");
}

}  // namespace
}  // namespace porter
