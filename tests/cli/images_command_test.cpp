// SPDX-License-Identifier: Apache-2.0
// Images that are transformed: run, predict, eval, start, export.
#include <nlohmann/json.hpp>

#include "command_test.hpp"
#include "io/file.hpp"
#include "says.hpp"

namespace porter {
namespace {

class ImagesCommand : public CommandTest {
 protected:
  // Bars that lie or stand, 8 x 12 pixels, anywhere and on grey paper: gradients tell them apart.
  void SetUp() override {
    std::string rows, images, answers = "prediction\n";
    for (int i = 0; i < 120; ++i) {
      const bool stands = i % 2 == 1;
      std::string image;
      for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 12; ++x)
          image += (image.empty() ? "" : ",") +
                   std::to_string(i % 3 + ((stands ? x : y) == 1 + i % 5 ? 4 + i % 4 : 0));
      rows += image + "," + (stands ? "1" : "0") + "\n";
      images += image + "\n";
      answers += stands ? "1\n" : "0\n";
    }
    write_file(dir_ / "rows.csv", rows);
    write_file(dir_ / "images.csv", images);
    write_file(dir_ / "answers.csv", answers);
    write_file(dir_ / "c.toml", R"([data]
train = "rows.csv"
transform = "hog"
image = "8x12"
[model]
lambda = 0
[network]
agents = 4
[algorithm]
name = "dsgd"
compressor = "identity"
rounds = 300
batch = 10
step = 2.0
start = "zeros"
[run]
evaluate = "end"
)");
  }
  std::string done(const std::string& arguments) {
    const auto result = porter(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.output;
    return result.output;
  }
};

TEST_F(ImagesCommand, TheModelTransformsWhatItIsGiven) {
  done("run c.toml --out run");
  done("predict run --data images.csv --out p.csv");
  EXPECT_EQ(read_file(dir_ / "p.csv"), read_file(dir_ / "answers.csv"));
  for (const std::string data : {"--data rows.csv", "--train"}) {
    const auto eval = nlohmann::json::parse(done("eval run --json " + data));
    EXPECT_EQ(eval["accuracy"], 1.0) << data;
  }
  EXPECT_TRUE(says(done("model show run"), "hog of 8x12, then none, and a column of ones"));
  const auto narrow = porter("predict run --data answers.csv");
  EXPECT_TRUE(says(narrow.output, "expected 96 columns")) << narrow.output;
  for (const std::string format : {"--onnx m.onnx", "--header m.hpp", "--json m.json"})
    expect_refused("model export run " + format, {{"", "data.transform = \"hog\""}});
}

// The same pixels without a transform, for a network whose windows find the bars.
TEST_F(ImagesCommand, ANetworkOfConvolutionsLearnsFromPixels) {
  const std::string network =
      "--set data.transform=none --set data.scale=unit --set model.name=layers --set "
      "'model.layers=[\"conv:6x3/1+1\",\"tanh\",\"maxpool:2\",\"dense:8\",\"tanh\"]' --set "
      "algorithm.start=fan-in:1 --set algorithm.step=0.3 ";
  done("run c.toml --out run " + network);
  done("predict run --data images.csv --out p.csv");
  EXPECT_EQ(read_file(dir_ / "p.csv"), read_file(dir_ / "answers.csv"));
  for (const std::string data : {"--data rows.csv", "--train"}) {
    const auto eval = nlohmann::json::parse(done("eval run --json " + data));
    EXPECT_EQ(eval["accuracy"], 1.0) << data;
  }
  EXPECT_TRUE(says(done("model show run"),
                   "layers over images of 8x12, conv:6x3/1+1, tanh, maxpool:2, dense:8, tanh"));
  for (const std::string format : {"--onnx m.onnx", "--header m.hpp", "--json m.json"})
    expect_refused("model export run " + format, {{"", "a network over images"}});
  done("run c.toml --out more --set algorithm.rounds=5 " + network +
       " --set algorithm.start=model:run");
  expect_refused("run c.toml --out out " + network + " --set algorithm.start=model:run --set ",
                 {{"data.image=12x8", "data.image: the file says 8x12, this run says 12x8"},
                  {"data.image=8x8", "images of 8x8 have 64 pixels, and the records 96 features"},
                  {"model.layers='[\"conv:6x9\"]'", "layer 1, \"conv:6x9\": a kernel of 9"}});
}

TEST_F(ImagesCommand, ARunGoesOnFromAModelOfTheSameTransform) {
  done("run c.toml --out run");
  done("run c.toml --out more --set algorithm.start=model:run --set algorithm.rounds=5");
  expect_refused("run c.toml --out out --set algorithm.start=model:run --set ",
                 {{"data.image=12x8",
                   "data.transform: the file says hog of 8x12, this run says hog of 12x8"}});
}

TEST_F(ImagesCommand, WrongKeysAreRefusedByName) {
  expect_refused("run c.toml --out out --set ", {{"data.transform=dog", "data.transform"},
                                                 {"data.image=8by12", "expected HEIGHTxWIDTH"},
                                                 {"data.image=8x11", "have 88 pixels"},
                                                 {"data.transform=none", "data.image"}});
}

}  // namespace
}  // namespace porter
