// SPDX-License-Identifier: Apache-2.0
// A regression with two targets from the command line: run, eval, predictions, compare, report.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_test.hpp"
#include "io/file.hpp"
#include "porter/io/npy.hpp"
#include "says.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

class RegressionCommand : public CommandTest {
 protected:
  RegressionCommand() {
    write("train.npz", toy_targets(150, 5, 2, false, 0.3));
    write("test.npz", toy_targets(60, 5, 2, false, 0.3, 1));
    write_file(dir_ / "c.toml",
               "[data]\ntrain = \"train.npz\"\ntest = \"test.npz\"\n"
               "[model]\nname = \"mlp\"\nhidden = [4]\nloss = \"squared\"\n"
               "[network]\nagents = 3\ngraph = \"ring\"\n"
               "[algorithm]\nname = \"porter-gc\"\nrounds = 200\nbatch = 10\nstep = 0.1\n"
               "consensus = 0.3\ncompressor = \"top_k:0.5\"\n");
  }
  void write(const std::string& name, const Dataset& data) {
    const Npz arrays = {
        {"X", {{data.rows(), data.features}, {data.values.begin(), data.values.end()}}},
        {"y", {{data.rows(), data.outputs}, {data.labels.begin(), data.labels.end()}}}};
    save_npz(dir_ / name, arrays);
  }
};

// RMSE and R2 of label_1,label_2,prediction_1,prediction_2.
std::pair<double, double> fit_of_predictions(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "label_1,label_2,prediction_1,prediction_2");
  std::vector<std::array<double, 4>> rows;
  while (std::getline(lines, line)) {
    auto& row = rows.emplace_back();
    std::istringstream cells(line);
    for (double& cell : row) {
      std::string text;
      std::getline(cells, text, ',');
      cell = std::strtod(text.c_str(), nullptr);
    }
  }
  double error = 0, spread = 0;
  const auto count = static_cast<double>(rows.size());
  for (const std::size_t o : {0, 1}) {
    double mean = 0;
    for (const auto& row : rows) mean += row[o] / count;
    for (const auto& row : rows) {
      error += (row[o + 2] - row[o]) * (row[o + 2] - row[o]);
      spread += (row[o] - mean) * (row[o] - mean);
    }
  }
  return {std::sqrt(error / (2 * count)), 1 - error / spread};
}

TEST_F(RegressionCommand, TellsRmseAndR2Everywhere) {
  const auto run = porter("run c.toml --out run");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  for (const char* piece :
       {"train RMSE ", "test RMSE ", ", R2 0.", "agents: mean RMSE ", "; worst "})
    EXPECT_TRUE(says(run.output, piece)) << piece << "\n" << run.output;
  const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));

  const auto text = porter("eval run");
  EXPECT_TRUE(says(text.output, ", RMSE ") && says(text.output, ", R2 0.")) << text.output;
  const auto result = porter("eval run --json --predictions p.csv");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_DOUBLE_EQ(json["rmse"], summary["last"]["test_rmse"]);
  EXPECT_DOUBLE_EQ(json["r2"], summary["last"]["test_r2"]);
  const auto [rmse, r2] = fit_of_predictions(read_file(dir_ / "p.csv"));
  EXPECT_NEAR(json["rmse"], rmse, 1e-12);
  EXPECT_NEAR(json["r2"], r2, 1e-12);

  EXPECT_TRUE(says(porter("compare run").output, "test R2"));
  ASSERT_EQ(porter("report run --out page.html").exit_code, 0);
  EXPECT_TRUE(says(read_file(dir_ / "page.html"), "Test R2 by round"));
  EXPECT_TRUE(
      says(porter("data info --train train.npz --regression").output, "2 targets in each row"));
}

TEST_F(RegressionCommand, RefusesWhatDoesNotFit) {
  expect_refused("run c.toml --out out ",
                 {{"--set model.loss=hinge", "model.loss: expected one of squared, huber, cauchy"},
                  {"--set data.classes=[0,1]", "predicts a number"}});
  const auto result = porter("run c.toml --out run");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  write("one.npz", toy_targets(60, 5, 1, false));
  const auto other = porter("eval run --data one.npz");
  EXPECT_EQ(other.exit_code, 1) << other.output;
  EXPECT_TRUE(says(other.output, "one.npz: expected 2 targets in each row")) << other.output;
  const auto classes = porter("run run/config.toml --out out --set model.name=softmax");
  EXPECT_NE(classes.exit_code, 0);
}

}  // namespace
}  // namespace porter
