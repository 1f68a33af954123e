// SPDX-License-Identifier: Apache-2.0
// algorithm.start = "model:FILE": a run that begins where another one ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "porter/train/train.hpp"
#include "says.hpp"
#include "temp_dir.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

const std::string kSchema = R"([label]
name = "y"
classes = ["no", "yes"]
[[column]]
name = "age"
[[column]]
name = "job"
kind = "category"
values = ["clerk", "cook"]
)";

class ModelStart : public testing::Test {
 protected:
  ModelStart() {
    write_file(dir_ / "train.csv", "age,job,y\n1,cook,no\n2,clerk,yes\n3,cook,no\n-1,cook,yes\n");
    write_file(dir_ / "plain.csv", "0.5,1,0\n-1,2,1\n0.25,-1,0\n2,3,1\n");
    write_file(dir_ / "schema.toml", kSchema);
  }

  RunParts parts(std::vector<std::string> overrides, bool schema = true) {
    const std::vector<std::string> base = {
        "data.train=" + (dir_ / (schema ? "train.csv" : "plain.csv")).string(),
        "network.agents=2",
        "network.graph=complete",
        "algorithm.rounds=2",
        "run.threads=1",
        "algorithm.name=beer",
        "algorithm.compressor=identity",
        "algorithm.batch=1"};
    overrides.insert(overrides.begin(), base.begin(), base.end());
    if (schema) overrides.push_back("data.schema=" + (dir_ / "schema.toml").string());
    return assemble(parse_config("", "test", overrides));
  }
  /// Trains, and returns the folder.
  std::filesystem::path trained(const std::string& name, const std::vector<std::string>& overrides,
                                bool schema = true) {
    Trainer trainer(parts(overrides, schema));
    RunFolder folder(dir_ / name, trainer, ExistingRun::refuse);
    train_in_folder(trainer, folder);
    return dir_ / name;
  }
  std::string refusal(const std::filesystem::path& model, std::vector<std::string> overrides = {},
                      bool schema = true) {
    overrides.push_back("algorithm.start=model:" + model.string());
    try {
      parts(overrides, schema);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  TempDir dir_;
};

TEST_F(ModelStart, ItsAverageIsWhereAllAgentsBegin) {
  const auto folder = trained("first", {"model.name=mlp", "model.hidden=[3]"});
  const auto mean = load_npz(folder / "model.npz", ByteArrays::bytes).at("x_mean").values;
  for (const auto& path : {folder, folder / "model.npz"}) {
    const auto second =
        parts({"model.name=mlp", "model.hidden=[3]", "algorithm.start=model:" + path.string()});
    EXPECT_EQ(second.start, mean);
    const auto& notes = second.facts.notes;
    EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
      return says(note, "x0 was learned from records") && says(note, "not private");
    }));
  }
}

TEST_F(ModelStart, APromiseSaysThatItDoesNotCoverTheModelsRecords) {
  const auto folder = trained("first", {});
  const auto covered = [&](const std::vector<std::string>& overrides) {
    auto all = overrides;
    all.insert(all.end(), {"algorithm.name=porter-dp", "algorithm.compressor=random_k:0.5",
                           "privacy.epsilon=5", "privacy.delta=0.01"});
    const auto list = parts(all).privacy->statement(1).not_covered;
    return std::ranges::none_of(
        list, [](const std::string& text) { return says(text, "model of algorithm.start"); });
  };
  EXPECT_TRUE(covered({}));
  EXPECT_FALSE(covered({"algorithm.start=model:" + folder.string()}));
}

TEST_F(ModelStart, AnotherModelIsRefusedByWhatDiffers) {
  const auto mlp = trained("mlp", {"model.name=mlp", "model.hidden=[3]"});
  EXPECT_TRUE(says(refusal(mlp), "model.name: the file says mlp, this run says logistic"));
  EXPECT_TRUE(says(refusal(mlp, {"model.name=mlp", "model.hidden=[4]"}),
                   "model.hidden: the file says [3], this run says [4]"));
  EXPECT_TRUE(says(refusal(mlp, {"model.name=mlp", "model.hidden=[3]", "model.activation=relu"}),
                   "model.activation: the file says sigmoid"));
  EXPECT_TRUE(says(refusal(mlp, {"model.name=mlp", "model.hidden=[3]", "data.scale=unit"}),
                   "data.scale: the file says none, this run says unit"));
  EXPECT_EQ(refusal(mlp, {"model.name=mlp", "model.hidden=[3]"}), "accepted");
}

TEST_F(ModelStart, AnotherSchemaIsRefusedByColumnOrClass) {
  const auto folder = trained("first", {});
  const auto plain = trained("plain", {}, false);
  auto other = kSchema;
  other.replace(other.find("\"clerk\", \"cook\""), 15, "\"cook\", \"clerk\"");
  write_file(dir_ / "schema.toml", other);
  EXPECT_TRUE(says(refusal(folder), "schema: column job: the file says "));
  other = kSchema;
  other.replace(other.find("\"no\", \"yes\""), 11, "\"yes\", \"no\"");
  write_file(dir_ / "schema.toml", other);
  EXPECT_TRUE(says(refusal(folder), "classes: the file says \"no\", \"yes\", this run says"));
  EXPECT_TRUE(says(refusal(folder, {}, false), "schema: column age: the file says"));
  EXPECT_TRUE(says(refusal(plain), "schema: column age: the file says nothing"));
}

TEST_F(ModelStart, AModelOfVersion01HasNoCardAndMustHaveTheSize) {
  save_npz(dir_ / "old.npz", {{"x_mean", {{3}, {1, 2, 3}}}});
  save_npz(dir_ / "long.npz", {{"x_mean", {{4}, {1, 2, 3, 4}}}});
  save_npz(dir_ / "none.npz", {{"X", {{3}, {1, 2, 3}}}});
  save_npz(dir_ / "nan.npz", {{"x_mean", {{3}, {1, std::nan(""), 3}}}});
  const auto old = parts({"algorithm.start=model:" + (dir_ / "old.npz").string()}, false);
  EXPECT_EQ(old.start, (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(says(old.facts.notes.back(), "the model says of it: nothing") ||
              says(old.facts.notes.front(), "the model says of it: nothing"));
  EXPECT_TRUE(says(refusal(dir_ / "long.npz", {}, false), "expected an x_mean of d = 3"));
  EXPECT_TRUE(says(refusal(dir_ / "none.npz", {}, false), "it has no x_mean"));
  EXPECT_TRUE(says(refusal(dir_ / "nan.npz", {}, false), "not finite"));
  EXPECT_TRUE(says(refusal(dir_ / "missing.npz", {}, false), "missing.npz"));
  auto bytes = read_raw_file(dir_ / "old.npz");
  write_file(dir_ / "cut.npz", bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(says(refusal(dir_ / "cut.npz", {}, false), "cut.npz"));
}

// Where it lies is nobody's business, and what it holds is compared when agents meet.
TEST_F(ModelStart, TheFoldersOfTheFileAreNotPartOfTheRun) {
  const auto id = [](const std::string& start) {
    return run_id(parse_config("", "test", {"algorithm.start=" + start}));
  };
  EXPECT_EQ(id("model:/a/model.npz"), id("model:/b/model.npz"));
  EXPECT_NE(id("model:/a/model.npz"), id("model:/a/other.npz"));
  EXPECT_NE(id("model:/a/model.npz"), id("file:/a/model.npz"));
}

}  // namespace
}  // namespace porter
