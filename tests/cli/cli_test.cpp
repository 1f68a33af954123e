// SPDX-License-Identifier: Apache-2.0
// The command as a user meets it: exit codes, messages, files left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_test.hpp"
#include "core/simd.hpp"
#include "io/file.hpp"
#include "porter/config/config.hpp"
#include "porter/io/npy.hpp"
#include "sanitized.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class Cli : public CommandTest {
 protected:
  Cli() {
    std::string train;
    for (int i = 0; i < 60; ++i)
      train += std::to_string(i % 7) + "," + std::to_string((i * i) % 5) + "," +
               std::to_string(i % 7 > 3 ? 1 : 0) + "\n";
    write_file(dir_ / "train.csv", train);
    write_file(
        dir_ / "c.toml",
        "[data]\ntrain = \"train.csv\"\ntest = \"train.csv\"\n[network]\nagents = 3\ngraph = "
        "\"ring\"\n"
        "[algorithm]\nrounds = 40\ncompressor = \"random_k:0.5\"\nconsensus = 0.2\nstep = 0.1\n");
  }
  std::size_t files_in(const fs::path& folder) {
    return fs::exists(folder) ? std::size_t(std::distance(fs::directory_iterator(folder), {})) : 0;
  }
};

TEST_F(Cli, RunWritesTheFolderOfTheContract) {
  const auto result = porter("run c.toml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const char* file :
       {"config.toml", "metrics.csv", "summary.json", "privacy.json", "model.npz", "graph.svg"})
    EXPECT_TRUE(fs::exists(dir_ / "out" / file)) << file;
  EXPECT_NE(result.output.find("simulated noise: not private"), std::string::npos);
  EXPECT_EQ(result.output.find("\x1b"), std::string::npos) << "no control codes off a terminal";
}

TEST_F(Cli, SecretNoiseOnFilesNeedsClassesAndFeatures) {
  auto result = porter("run c.toml --out out --set privacy.noise=secure --set privacy.delta=1e-3");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_NE(result.output.find("data.classes and data.features"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir_ / "out"));

  write_file(dir_ / "train.csv", read_file(dir_ / "train.csv") + "1,2,7\n");  // of no stated class
  result = porter(
      "run c.toml --out out --set privacy.noise=secure --set privacy.delta=1e-3 --set "
      "'data.classes=[1, 0]' --set data.features=2");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("1 of 61 records"), std::string::npos) << result.output;
  for (const char* file : {"summary.json", "privacy.json", "config.toml"})
    EXPECT_EQ(read_file(dir_ / "out" / file).find("records do not fit"), std::string::npos) << file;
  result = porter("eval out --predictions p.csv");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("on 60 rows"), std::string::npos) << result.output;
  EXPECT_TRUE(read_file(dir_ / "p.csv").ends_with("\n,\n"));
}

TEST_F(Cli, TwoRunsAndTwoThreadCountsGiveTheSameModel) {
  ASSERT_EQ(porter("run c.toml --out a --set run.threads=1").exit_code, 0);
  ASSERT_EQ(porter("run c.toml --out b --set run.threads=2").exit_code, 0);
  EXPECT_EQ(read_file(dir_ / "a" / "model.npz"), read_file(dir_ / "b" / "model.npz"));
}

TEST_F(Cli, EveryInstructionSetGivesTheSameModel) {
  ASSERT_EQ(porter("run c.toml --out best").exit_code, 0);
  for (const auto& target : simd_targets()) {
    ASSERT_EQ(porter("--simd " + target + " run c.toml --out " + target).exit_code, 0) << target;
    EXPECT_EQ(read_file(dir_ / target / "model.npz"), read_file(dir_ / "best" / "model.npz"))
        << target;
  }
  const auto refused = porter("--simd abacus run c.toml --out none");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find(simd_targets().front()), std::string::npos) << refused.output;
}

TEST_F(Cli, TheSimdVariableIsHeededByEveryCommandAndTheOptionWins) {
  const std::string binary = binary_dir() + "/porter", last = simd_targets().back();
  const auto with = [&](const std::string& value, const std::string& arguments) {
    std::string line = "cd " + dir_.path().string() + " && PORTER_SIMD=" + value;
    line += " " + binary + " " + arguments;
    return run_command(line);
  };
  EXPECT_EQ(with(last, "run c.toml --out limited").exit_code, 0);
  EXPECT_EQ(with("''", "graph --help").exit_code, 0);
  EXPECT_EQ(with("abacus", "--simd " + last + " run c.toml --out winner").exit_code, 0);
  for (const char* command : {"run c.toml --out none", "data list", "graph"}) {
    const auto refused = with("abacus", command);
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_NE(refused.output.find("PORTER_SIMD: unknown instruction set \"abacus\""),
              std::string::npos)
        << refused.output;
    for (const auto& known : simd_targets())
      EXPECT_NE(refused.output.find(known), std::string::npos) << refused.output;
  }
}

// Limits of memory end a run with the keys that ask for it, neither by a signal nor without a word.
TEST_F(Cli, WhatDoesNotFitIntoMemoryIsNamed) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space";
  const auto limited = [&](const std::string& arguments) {
    return run_command("cd " + dir_.path().string() + " && ulimit -v 1000000 && " + binary_dir() +
                       "/porter run c.toml --out out " + arguments);
  };
  const std::string mlp = "--set model.name=mlp --set model.hidden=";
  const std::pair<std::string, std::string> cases[] = {
      {mlp + "[20000000]", "(network.agents) with a model of"},
      {mlp + "[800000000] --set network.agents=60", "take at least"},
      {mlp + "[1500000000]", "model.hidden: expected at most 4294967295 parameters"},
      {"--set run.threads=1024", "(run.threads)"},
      {"--set run.evaluate=log-all:4000000000", "run.evaluate"},
      {"--set network.agents=2147483647", "agents"}};
  for (const auto& [arguments, expected] : cases) {
    const auto result = limited(arguments);
    EXPECT_TRUE(result.exit_code == 1 || result.exit_code == 2) << arguments << result.exit_code;
    EXPECT_NE(result.output.find(expected), std::string::npos) << arguments << result.output;
  }
}

// A program of the library alone: here a test program, which fails and runs nothing.
TEST_F(Cli, ATestProgramFailsOnAnUnknownSimdVariable) {
  const auto result =
      run_command("PORTER_SIMD=abacus " + binary_dir() +
                  "/tests/test_cli --gtest_filter=Cli.RunWritesTheFolderOfTheContract");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.output.find("unknown instruction set \"abacus\""), std::string::npos);
}

TEST_F(Cli, AnInterruptWritesACheckpointAndResumeContinuesBitForBit) {
  const std::string slow = "--set algorithm.rounds=200000 --set run.evaluate=end";
  ASSERT_EQ(porter("run c.toml --out straight " + slow).exit_code, 0);
  {
    RunningPorter run(dir_.path(),
                      {"run", "c.toml", "--out", "broken", "--set", "algorithm.rounds=200000",
                       "--set", "run.evaluate=end", "--set", "run.checkpoint=every:1000"},
                      dir_ / "log");
    ASSERT_TRUE(run.wait_until(
        [&] { return fs::exists(dir_ / "broken" / "checkpoint" / "checkpoint.npz"); }));
    run.stop(SIGINT);
  }
  EXPECT_NE(read_file(dir_ / "log").find("--resume"), std::string::npos) << read_file(dir_ / "log");
  EXPECT_FALSE(fs::exists(dir_ / "broken" / "model.npz"));
  ASSERT_EQ(porter("run broken/config.toml --out broken --resume").exit_code, 0);
  EXPECT_EQ(read_file(dir_ / "straight" / "model.npz"), read_file(dir_ / "broken" / "model.npz"));
  EXPECT_EQ(porter("run broken/config.toml --out broken --resume").exit_code, 0)
      << "finished: nothing to do";
}

TEST_F(Cli, WrongConfigsExitWithTwoAndLeaveNothing) {
  write_file(dir_ / "edges.txt", "0 1\n");  // leaves agent 2 alone
  const std::vector<std::size_t> shape = {3, 3};
  save_npy(dir_ / "W.npy", shape, std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  expect_refused("", {
                         {"run c.toml --out out --set algorithm.stepp=1", "algorithm.stepp"},
                         {"run c.toml --out out --set algorithm.step=big", "expected a number"},
                         {"run c.toml --out out --set algorithm.compressor=random_k:k=4",
                          "algorithm.compressor"},
                         {"run c.toml --out out --set algorithm.batch=21", "algorithm.batch"},
                         {"run c.toml --out out --set network.agents=61", "network.agents"},
                         {"run c.toml --out out --set privacy.delta=1", "privacy.delta"},
                         {"run c.toml --out out --set network.graph=file:edges.txt", "edges.txt"},
                         {"run c.toml --out out --set network.mixing=file:W.npy", "W.npy"},
                         {"run c.toml --resume", "--out"},
                         {"run", "config"},
                         {"fly", "fly"},
                         {"", "subcommand"},
                     });
}

TEST_F(Cli, BrokenDataFilesExitWithOneAndNameThePlace) {
  write_file(dir_ / "bad.csv", "1,2,0\n1,x,1\n");
  auto result = porter("run c.toml --out out --set data.train=bad.csv");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("bad.csv, line 2"), std::string::npos) << result.output;
  write_file(dir_ / "labels.csv", "1,2,7\n");
  result = porter("run c.toml --out out --set data.test=labels.csv");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("labels.csv, line 1: expected a label of the training set"),
            std::string::npos)
      << result.output;
  result = porter("run c.toml --out out --set data.train=missing.csv");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("missing.csv"), std::string::npos) << result.output;
  ASSERT_EQ(run_command("cd " + dir_.path().string() +
                        " && gzip -k train.csv && head -c 60 train.csv.gz > cut.csv.gz")
                .exit_code,
            0);
  result = porter("run c.toml --out out --set data.train=cut.csv.gz");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("truncated"), std::string::npos) << result.output;
  EXPECT_FALSE(fs::exists(dir_ / "out"));
}

TEST_F(Cli, AnotherRunsFolderIsRefused) {
  ASSERT_EQ(porter("run c.toml --out out").exit_code, 0);
  const auto model = read_file(dir_ / "out" / "model.npz");
  const auto refused = porter("run c.toml --out out --set run.seed=2");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("--force"), std::string::npos);
  EXPECT_EQ(read_file(dir_ / "out" / "model.npz"), model);
  ASSERT_EQ(porter("run c.toml --out out --set run.seed=2 --force").exit_code, 0);
  EXPECT_NE(read_file(dir_ / "out" / "model.npz"), model);
}

TEST_F(Cli, NoSpaceLeftIsAClearErrorAndLeavesNoHalfWrittenResult) {
  // A limit on file size fails writes as a full disk does; its signal must not end the program.
  const auto result =
      run_command("cd " + dir_.path().string() + " && bash -c \"ulimit -f 1; " + binary_dir() +
                  "/porter run c.toml --out out --set run.evaluate=every:1\"");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.output.find("cannot write"), std::string::npos) << result.output;
  EXPECT_FALSE(fs::exists(dir_ / "out" / "model.npz"));
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path()))
    EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();
}

TEST_F(Cli, DivergenceExitsWithOneAndSaysSo) {
  const auto result = porter(
      "run c.toml --out out --set algorithm.name=dsgd --set algorithm.compressor=identity --set "
      "algorithm.step=1e200");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("diverged"), std::string::npos) << result.output;
  EXPECT_TRUE(fs::exists(dir_ / "out" / "metrics.csv"));
}

TEST_F(Cli, DryRunPrintsTheResolvedConfigAndWritesNothing) {
  const auto result = porter("run c.toml --out out --dry-run");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("compressor = \"random_k:0.5\""), std::string::npos);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
  EXPECT_FALSE(fs::exists(dir_ / "runs"));
}

TEST_F(Cli, EvalUsesTheTrainedModel) {
  ASSERT_EQ(porter("run c.toml --out out").exit_code, 0);
  const auto result = porter("eval out --json --predictions p.csv");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  const auto summary = nlohmann::json::parse(read_file(dir_ / "out" / "summary.json"));
  EXPECT_DOUBLE_EQ(json["accuracy"], summary["last"]["test_accuracy"]);
  EXPECT_DOUBLE_EQ(json["loss"], summary["last"]["test_loss"]);
  const auto predictions = read_file(dir_ / "p.csv");
  EXPECT_EQ(std::count(predictions.begin(), predictions.end(), '\n'), 61);
  EXPECT_EQ(porter("eval out --which agent:2").exit_code, 0);
  EXPECT_EQ(porter("eval out --which agent:3").exit_code, 2);
  EXPECT_EQ(porter("eval out --which x_worst").exit_code, 2);
  const auto missing = porter("eval missing");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.output.find("missing: no such folder or file"), std::string::npos)
      << missing.output;
}

TEST_F(Cli, EvalUsesTheDataItIsGivenOrRefuses) {
  ASSERT_EQ(porter("run c.toml --out run").exit_code, 0);
  write_file(dir_ / "new.csv", "6,1,1\n0,0,0\n5,4,1\n");
  const auto result = porter("eval run --json --data new.csv");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(nlohmann::json::parse(result.output)["rows"], 3);
  expect_refused("eval run --predictions out ", {{"--data nothere.csv", "nothere.csv"},
                                                 {"--data synthetic", "classes"},
                                                 {"--data new.csv --train", "--train"}});
  ASSERT_EQ(porter("run c.toml --out known --set data.train= --set data.test=").exit_code, 0);
  const auto narrow = porter("eval known --data new.csv");
  EXPECT_EQ(narrow.exit_code, 1);
  EXPECT_NE(narrow.output.find("expected 123 features"), std::string::npos) << narrow.output;
}

TEST_F(Cli, EvalNeedsNothingButTheModel) {
  ASSERT_EQ(porter("run c.toml --out run").exit_code, 0);
  fs::create_directory(dir_ / "away");
  fs::copy(dir_ / "run" / "model.npz", dir_ / "away" / "m.npz");
  write_file(dir_ / "new.csv", "6,1,1\n0,0,0\n5,4,1\n");
  const auto there = porter("eval run --json --data new.csv");
  const auto away = porter("eval away/m.npz --json --data new.csv --html page.html");
  ASSERT_EQ(away.exit_code, 0) << away.output;
  EXPECT_EQ(nlohmann::json::parse(away.output)["loss"],
            nlohmann::json::parse(there.output)["loss"]);
  EXPECT_NE(read_file(dir_ / "page.html").find("Calibration"), std::string::npos);
  const auto own = porter("eval away/m.npz");
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_NE(own.output.find("give others with --data"), std::string::npos) << own.output;
}

TEST_F(Cli, EvalTakesImagesWithTheirLabels) {
  const auto idx = [](char dimensions, char rows, const std::string& body) {
    const auto number = [](char value) { return std::string(3, '\0') + value; };
    return std::string("\0\0\x08", 3) + dimensions + number(rows) +
           (dimensions == 3 ? number(1) + number(2) : "") + body;
  };
  write_file(dir_ / "images", idx(3, 6, "ab01cd02ef03"));
  write_file(dir_ / "labels", idx(1, 6, std::string("\0\1\0\1\0\1", 6)));
  write_file(dir_ / "few", idx(3, 2, "ab01"));
  write_file(dir_ / "few.labels", idx(1, 2, std::string("\0\1", 2)));
  ASSERT_EQ(porter("run c.toml --out run --set data.train= --set data.test= --set "
                   "data.train_images=images --set data.train_labels=labels")
                .exit_code,
            0);
  expect_refused("eval run --predictions out ", {{"--data few", "IDX file"}});
  const auto result = porter("eval run --json --data few,few.labels");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(nlohmann::json::parse(result.output)["rows"], 2);
}

TEST_F(Cli, ResumeNamesTheKeysThatDifferAlsoOfAFinishedRun) {
  ASSERT_EQ(porter("run c.toml --out run").exit_code, 0);
  const auto result =
      porter("run c.toml --out run --resume --set algorithm.step=0.2 --set run.seed=3");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  for (const char* piece : {"algorithm.step: the folder says 0.1, this command says 0.2",
                            "run.seed: the folder says 1, this command says 3"})
    EXPECT_NE(result.output.find(piece), std::string::npos) << result.output;
  const auto same = porter("run c.toml --out run --resume --set run.threads=2");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_NE(same.output.find("finished already"), std::string::npos) << same.output;
}

TEST_F(Cli, ResumeWithoutACheckpointIsRefused) {
  ASSERT_EQ(porter("run c.toml --out run").exit_code, 0);
  fs::remove(dir_ / "run" / "summary.json");  // as if it had been killed
  fs::remove_all(dir_ / "run" / "checkpoint");
  const auto metrics = read_file(dir_ / "run" / "metrics.csv");
  const auto result = porter("run c.toml --out run --resume");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_NE(result.output.find("no checkpoint"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("--force"), std::string::npos) << result.output;
  EXPECT_EQ(read_file(dir_ / "run" / "metrics.csv"), metrics);
}

TEST_F(Cli, AFinishedRunIsExtendedAndEndsAsALongerOneDoes) {
  const std::string quiet = " --set algorithm.name=porter-gc --set run.evaluate=every:20";
  ASSERT_EQ(porter("run c.toml --out run" + quiet).exit_code, 0);
  ASSERT_EQ(porter("run c.toml --out long --set algorithm.rounds=80" + quiet).exit_code, 0);
  const auto result = porter("run c.toml --out run --resume --set algorithm.rounds=80" + quiet);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("extending a finished run after round 40"), std::string::npos);
  EXPECT_EQ(read_file(dir_ / "run" / "model.npz"), read_file(dir_ / "long" / "model.npz"));
  EXPECT_EQ(read_file(dir_ / "run" / "config.toml"), read_file(dir_ / "long" / "config.toml"));
  const auto fewer = porter("run c.toml --out run --resume" + quiet);
  EXPECT_EQ(fewer.exit_code, 2) << fewer.output;
  EXPECT_NE(fewer.output.find("the folder says 80, this command says 40"), std::string::npos);
}

TEST_F(Cli, CalibratedNoiseIsExtendedOnlyWhenItsSizeIsStated) {
  ASSERT_EQ(porter("run c.toml --out run").exit_code, 0);
  const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
  const std::string more = "run c.toml --out run --resume --set algorithm.rounds=80";
  const auto refused = porter(more);
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  for (const char* part :
       {"was made for 40 rounds", "80 rounds cost epsilon = ", "1 was asked for"})
    EXPECT_NE(refused.output.find(part), std::string::npos) << refused.output;
  const std::string advice = "--set privacy.calibration=sigma --set privacy.sigma=";
  const auto at = refused.output.find(advice);
  ASSERT_NE(at, std::string::npos) << refused.output;
  const auto stated =
      refused.output.substr(at, refused.output.find_first_of(" \n", at + advice.size()) - at);
  EXPECT_EQ(porter(more + " --set privacy.calibration=sigma --set privacy.sigma=7").exit_code, 2);
  const auto result = porter(more + " " + stated);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto longer = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
  EXPECT_EQ(longer["sigma"], summary["sigma"]);
  EXPECT_EQ(longer["privacy"]["releases"], 80);
  EXPECT_GT(longer["epsilon"], summary["epsilon"]);
}

TEST_F(Cli, HeldOutRowsAreTheSameInTheRunAndInEval) {
  const auto run = porter("run c.toml --out run --set data.test= --set data.holdout=0.25");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("15 of its 60 rows held out"), std::string::npos) << run.output;
  const auto result = porter("eval run --json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
  EXPECT_EQ(json["rows"], 15);
  EXPECT_DOUBLE_EQ(json["loss"], summary["last"]["test_loss"]);
  EXPECT_EQ(nlohmann::json::parse(porter("eval run --json --train").output)["rows"], 45);
  EXPECT_EQ(nlohmann::json::parse(porter("eval run --json --data train.csv").output)["rows"], 60);
  expect_refused("run c.toml --out out ", {{"--set data.holdout=0.2", "has one"}});
}

TEST_F(Cli, StepsThatAreAutoAreNumbersInTheFolder) {
  const std::string untuned = " --set algorithm.step=auto --set algorithm.consensus=auto";
  const auto result = porter("run c.toml --out run" + untuned);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto text = read_file(dir_ / "run" / "config.toml");
  EXPECT_EQ(text.find("auto"), std::string::npos) << text;
  EXPECT_EQ(porter("run run/config.toml --out again").exit_code, 0);
  EXPECT_EQ(read_file(dir_ / "run" / "model.npz"), read_file(dir_ / "again" / "model.npz"));
  // They stay what they are when the run is extended.
  const std::string quiet = untuned + " --set algorithm.name=porter-gc";
  ASSERT_EQ(porter("run c.toml --out more" + quiet).exit_code, 0);
  const auto before = load_config(dir_ / "more" / "config.toml").algorithm;
  const auto more = porter("run c.toml --out more --resume --set algorithm.rounds=4000" + quiet);
  EXPECT_EQ(more.exit_code, 0) << more.output;
  EXPECT_EQ(load_config(dir_ / "more" / "config.toml").algorithm.step, before.step);
  expect_refused("run c.toml --out out --set algorithm.step=auto ",
                 {{"--set model.name=mlp", "algorithm.step: \"auto\" needs a model"}});
}

TEST_F(Cli, CompareAndReportReadWhatRunWrote) {
  ASSERT_EQ(porter("run c.toml --out a").exit_code, 0);
  ASSERT_EQ(porter("run c.toml --out b --set algorithm.name=soteriafl-sgd").exit_code, 0);
  const auto table = porter("compare a b");
  EXPECT_EQ(table.exit_code, 0) << table.output;
  EXPECT_NE(table.output.find("soteriafl-sgd"), std::string::npos);
  ASSERT_EQ(porter("report a b --out r.html").exit_code, 0);
  EXPECT_NE(read_file(dir_ / "r.html").find("<svg"), std::string::npos);
}

TEST_F(Cli, CompareAndReportTakeSeedsAndNestedFolders) {
  for (const char* seed : {"1", "2"}) {
    const std::string out = std::string("all/gc/seed-") + seed;
    ASSERT_EQ(porter("run c.toml --out " + out + " --set run.seed=" + seed).exit_code, 0);
  }
  fs::create_directories(dir_ / "all" / "begun");
  write_file(dir_ / "all" / "begun" / "config.toml", "");
  const auto one = porter("compare all");
  EXPECT_EQ(one.exit_code, 0) << one.output;
  for (const char* part : {"\ngc ", " ± ", "Read all: 2 runs", "Skipped all/begun: "})
    EXPECT_NE(one.output.find(part), std::string::npos) << part << "\n" << one.output;
  const auto each = porter("compare all --each-seed");
  EXPECT_NE(each.output.find("\nseed-2 "), std::string::npos) << each.output;
  EXPECT_EQ(each.output.find(" ± "), std::string::npos) << each.output;
  const auto json = porter("compare all --json");
  const auto parsed = nlohmann::json::parse(json.output);
  EXPECT_EQ(parsed["runs"][0]["seeds"], 2);
  EXPECT_TRUE(parsed["runs"][0]["loss_stddev"].is_number());
  EXPECT_EQ(parsed["skipped"].size(), 1U);
  const auto report = porter("report all --out r.html");
  EXPECT_NE(report.output.find("Skipped all/begun"), std::string::npos) << report.output;
  EXPECT_NE(read_file(dir_ / "r.html").find("gc (2 seeds)"), std::string::npos);
}

TEST_F(Cli, ASecretRunShowsNoFiguresOfItsTrainingDataUnlessAskedTo) {
  const std::string secret =
      "--set privacy.noise=secure --set privacy.delta=1e-3 "
      "--set 'data.classes=[0, 1]' --set data.features=6";
  const auto quiet = porter("run c.toml --out quiet " + secret);
  ASSERT_EQ(quiet.exit_code, 0) << quiet.output;
  EXPECT_EQ(quiet.output.find("loss"), std::string::npos) << quiet.output;
  const auto raw = porter("run c.toml --out raw --raw-metrics " + secret);
  ASSERT_EQ(raw.exit_code, 0) << raw.output;
  EXPECT_NE(raw.output.find("loss"), std::string::npos) << raw.output;
  EXPECT_NE(raw.output.find("no epsilon covers"), std::string::npos) << raw.output;
  EXPECT_EQ(porter("compare quiet raw").exit_code, 0);
  EXPECT_EQ(porter("report quiet raw --out r.html").exit_code, 0);
  EXPECT_EQ(porter("eval quiet").exit_code, 0);
  EXPECT_EQ(porter("eval quiet --which x_best").exit_code, 2);
}

TEST_F(Cli, EveryCommandHasHelp) {
  for (const char* command :
       {"demo", "run", "eval", "compare", "report", "watch", "graph", "data"}) {
    const auto result = porter(std::string(command) + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_GT(result.output.size(), 100U) << command;
  }
}

TEST_F(Cli, TheDemoEndsWithATableAndAPage) {
  const auto result = porter("demo --rounds 50 --out demo");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("soteriafl-sgd"), std::string::npos);
  EXPECT_TRUE(fs::exists(dir_ / "demo" / "report.html"));
}

}  // namespace
}  // namespace porter
