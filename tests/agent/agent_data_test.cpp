// SPDX-License-Identifier: Apache-2.0
// What an agent does with its own data before it meets anybody.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "config/config_keys.hpp"
#include "io/file.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "says.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Rows of three features with labels 0 and 1; large enough that a cache would want it.
std::string own_rows() {
  std::string text;
  for (int row = 0; row < 6000; ++row)
    text += std::to_string(row % 7) + ".25,-1.5,3.125," + std::to_string(row % 2) + "\n";
  return text;
}

struct OwnData {
  TempDir folder;
  AgentOptions options;

  explicit OwnData(const std::string& data_section, bool insecure_test_noise = false,
                   const std::string& rows = own_rows()) {
    write_file(folder / "own.csv", rows);
    write_file(folder / "node.toml", "[data]\n" + data_section + R"(
[network]
agents = 2
graph = "complete"
mixing = "metropolis"
[algorithm]
rounds = 3
[agent]
name = "a"
listen = "127.0.0.1:7400"
ca = "ca.crt"
certificate = "a.crt"
key = "a.key"
train = "own.csv"
peers = [{name = "a", address = "127.0.0.1:7400"}, {name = "b", address = "127.0.0.1:7401"}]
)");
    options = load_agent_options(folder / "node.toml", {}, insecure_test_noise);
  }

  /// Where it ends: the keys, which are not there, are read when the data have been.
  std::string end() const {
    try {
      run_agent(options, folder / "out", {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST(AgentData, AGuaranteeNeedsClassesAndFeatures) {
  EXPECT_TRUE(says(OwnData("").end(), "data.classes and data.features"));
  EXPECT_TRUE(says(OwnData("classes = [0, 1]").end(), "data.features: "));
  EXPECT_TRUE(says(OwnData("features = 3").end(), "data.classes: "));
  EXPECT_TRUE(says(OwnData("classes = [0, 1]\nfeatures = 3").end(), "ca.crt"));
  EXPECT_TRUE(says(OwnData("", true).end(), "ca.crt"));  // noise that promises nothing
}

TEST(AgentData, AScaleIsMeasuredOnNothing) {
  const std::string stated = "classes = [0, 1]\nfeatures = 3\nscale = \"standard\"\n";
  for (const bool insecure : {false, true}) {
    EXPECT_TRUE(says(OwnData(stated, insecure).end(), "standard with data.moments"));
    EXPECT_TRUE(says(OwnData(stated + "moments = [0.5, 2]", insecure).end(), "ca.crt"));
  }
}

// Its own file does not tell what its images look like, and neighbours compare what it says of
// them.
TEST(AgentData, ImagesAreTransformedWhereTheirShapeIsStated) {
  std::string rows;
  for (int row = 0; row < 40; ++row) {
    for (int i = 0; i < 49; ++i) rows += std::to_string(i * (row + 2) % 9) + ",";
    rows += std::to_string(row % 2) + "\n";
  }
  const std::string stated = "classes = [0, 1]\nfeatures = 49\ntransform = \"hog\"\n";
  EXPECT_TRUE(says(OwnData(stated, false, rows).end(), "needs the shape of the images"));
  EXPECT_TRUE(says(OwnData(stated + "image = \"7x8\"", false, rows).end(), "have 56 pixels"));
  const OwnData agent(stated + "image = \"7x7\"", false, rows);
  EXPECT_TRUE(says(agent.end(), "ca.crt")) << agent.end();
  auto facts = identity(agent.options.config);
  EXPECT_EQ(facts["data.transform"], "\"hog\"");
  EXPECT_EQ(facts["data.image"], "\"7x7\"");
}

// One record decides neither whether it starts nor what it says.
TEST(AgentData, NoRecordKeepsItFromStarting) {
  const std::string stated = "classes = [0, 1]\nfeatures = 3";
  for (const char* record : {"1,2,3,7\n", "1,2\n", "nan,2,3,1\n", "x,y,z,w\n"}) {
    const OwnData agent(stated, false, own_rows() + record);
    EXPECT_TRUE(says(agent.end(), "ca.crt")) << record << agent.end();
  }
  std::string one_class;
  for (int row = 0; row < 2000; ++row) one_class += "1,2,3,1\n";
  EXPECT_TRUE(says(OwnData(stated, false, one_class).end(), "ca.crt"));
}

TEST(AgentData, NothingIsHeldOut) {
  for (const char* key : {"holdout = 0.2", "fold = \"1/5\""})
    for (const bool insecure : {false, true})
      EXPECT_TRUE(says(
          OwnData(concat("name = \"phishing\"\nclasses = [0, 1]\nfeatures = 3\n", key), insecure)
              .end(),
          "an agent trains on all rows of its file"))
          << key;
}

TEST(AgentData, ItsOwnDataAreCopiedNowhere) {
  const TempDir cache;
  const char* before = getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  EXPECT_TRUE(says(OwnData("classes = [0, 1]\nfeatures = 3").end(), "ca.crt"));
  EXPECT_TRUE(says(OwnData("", true).end(), "ca.crt"));
  EXPECT_TRUE(fs::is_empty(cache.path()));
  if (before)
    setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  else
    unsetenv("XDG_CACHE_HOME");
}

TEST(AgentData, NeighboursCompareClassesFeaturesAndMoments) {
  const auto facts = [](const std::string& section) {
    const OwnData agent(section);
    auto graph = make_graph("complete", 2, 1);
    auto mixing = make_mixing("metropolis", graph);
    return shared_facts(agent.options.config, {std::move(graph), std::move(mixing)}, 4);
  };
  auto ours = facts("classes = [0, 1]\nfeatures = 3");
  EXPECT_EQ(ours["data.classes"], "[0, 1]");
  EXPECT_EQ(ours["data.features"], "3");
  EXPECT_NE(facts("classes = [1, 0]\nfeatures = 3"), ours);

  const std::string standard = "classes = [0, 1]\nfeatures = 3\nscale = \"standard\"\n";
  ours = facts(standard + "moments = [0.5, 2]");
  EXPECT_EQ(ours["data.moments"], "[0.5, 2.0]");
  EXPECT_EQ(facts(standard + "moments = [5e-1, 2.0]"), ours);
  EXPECT_NE(facts(standard + "moments = [0.5, 2.5]")["data.moments"], ours["data.moments"]);
  EXPECT_NE(facts(standard + "moments = [0.25, 2]")["data.moments"], ours["data.moments"]);
}

// What a schema means is compared, column by column; not what its file is called or how an owner's
// table is written.
TEST(AgentData, NeighboursCompareSchemas) {
  const TempDir folder;
  const auto facts_of = [&](const std::string& file, const std::string& schema) {
    write_file(folder / file, schema);
    const auto config = parse_config(
        "[data]\ntrain = \"own.csv\"\nschema = \"" + (folder / file).string() + "\"", "c.toml");
    auto graph = make_graph("complete", 2, 1);
    auto mixing = make_mixing("metropolis", graph);
    return shared_facts(config, {std::move(graph), std::move(mixing)}, 4);
  };
  const auto facts = [&](const std::string& file, const std::string& classes,
                         const std::string& columns) {
    return facts_of(file, "[label]\nname = \"y\"\nclasses = " + classes + "\n" + columns);
  };
  const std::string a = "[[column]]\nname = \"a\"\n", b = "[[column]]\nname = \"b\"\n";
  const auto ours = facts("s.toml", "[\"no\", \"yes\"]", a + b);
  EXPECT_EQ(facts("other.toml", "[\"no\", \"yes\"]", a + "unit = \"cm\"\n" + b), ours);
  const auto differing = [&](const std::map<std::string, std::string>& theirs) {
    std::string keys;
    for (const auto& [key, value] : ours)
      if (!theirs.contains(key) || theirs.at(key) != value) keys += key + ";";
    return keys;
  };
  EXPECT_EQ(differing(facts("s.toml", "[\"yes\", \"no\"]", a + b)), "schema: label;");
  EXPECT_EQ(differing(facts("s.toml", "[\"no\", \"yes\"]", b + a)),
            "schema: column a;schema: column b;");

  // Every one of several labels, and how much a record may weigh.
  const std::string x = "[[label]]\nname = \"x\"\n", y = "[[label]]\nname = \"y\"\n";
  const auto two = facts_of("s.toml", x + y + "deviation = 2\n" + a);
  EXPECT_TRUE(two.contains("schema: label x") && two.contains("schema: label y"));
  EXPECT_EQ(facts_of("s.toml", x + y + a).at("schema: label x"), two.at("schema: label x"));
  EXPECT_NE(facts_of("s.toml", x + y + a).at("schema: label y"), two.at("schema: label y"));
  EXPECT_NE(facts_of("s.toml", y + "deviation = 2\n" + x + a), two) << "their order";
  const auto weighed = [&](const std::string& most) {
    return facts_of("s.toml", x + y + "[weight]\nname = \"w\"\nmaximum = " + most + "\n" + a)
        .at("schema: weight");
  };
  EXPECT_EQ(weighed("2"), weighed("2.0"));
  EXPECT_NE(weighed("2"), weighed("3"));
  EXPECT_FALSE(two.contains("schema: weight"));
}

}  // namespace
}  // namespace porter
