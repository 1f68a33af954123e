// SPDX-License-Identifier: Apache-2.0
// The folder of a run: resumed, refused or replaced, its checkpoints and its summary.
#include "train/run_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "porter/model/model.hpp"
#include "porter/train/checkpoint.hpp"
#include "porter/train/train.hpp"
#include "trainer_test.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

TEST_F(TrainerTest, ASummaryKeepsTheLastRowThoughNothingMoreIsEvaluated) {
  for (const bool first : {true, false}) {
    Trainer trainer(assemble(config({"run.evaluate=every:20"})));
    RunFolder folder(dir_ / "run", trainer, first ? ExistingRun::refuse : ExistingRun::resume);
    if (!first) folder.restore(trainer);
    train_in_folder(trainer, folder, {{.stop_requested = [&] { return trainer.round() >= 25; }}});
    const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
    ASSERT_FALSE(summary["last"].is_null()) << first;
    EXPECT_EQ(summary["last"]["round"], 20) << first;
  }
}

TEST_F(TrainerTest, InterruptedAndResumedIsBitIdenticalForEveryAlgorithm) {
  for (const auto& info : algorithm_table()) {
    SCOPED_TRACE(info.name);
    std::vector<std::string> overrides = {"algorithm.name=" + info.name};
    if (!info.compresses) overrides.push_back("algorithm.compressor=identity");
    const auto straight = dir_ / (info.name + "-straight"), broken = dir_ / (info.name + "-broken");
    {
      Trainer trainer(assemble(config(overrides)));
      RunFolder folder(straight, trainer, ExistingRun::refuse);
      train_in_folder(trainer, folder, {});
    }
    for (const std::uint32_t stop : {0U, 7U, 41U}) {
      Trainer trainer(assemble(config(overrides)));
      RunFolder folder(broken, trainer,
                       fs::exists(broken) ? ExistingRun::resume : ExistingRun::refuse);
      if (fs::exists(broken / "summary.json")) folder.restore(trainer);
      EXPECT_EQ(train_in_folder(trainer, folder,
                                {{.stop_requested = [&] { return trainer.round() >= stop; }}}),
                TrainStatus::interrupted);
      EXPECT_EQ(RunFolder::recorded_status(broken), TrainStatus::interrupted);
    }
    Trainer trainer(assemble(config(overrides)));
    RunFolder folder(broken, trainer, ExistingRun::resume);
    folder.restore(trainer);
    EXPECT_EQ(trainer.round(), 41U);
    EXPECT_EQ(train_in_folder(trainer, folder, {}), TrainStatus::finished);
    EXPECT_EQ(read_file(straight / "model.npz"), read_file(broken / "model.npz"));
    // The metrics too, but for the seconds.
    const auto without_seconds = [](const std::string& text) {
      const auto& columns = metrics_columns();
      const auto seconds =
          std::ranges::find(columns, std::string_view("seconds"),
                            [](const auto& c) { return std::string_view(c.name); });
      std::istringstream in(text);
      std::string out, line, cell;
      while (std::getline(in, line)) {
        std::istringstream cells(line);
        for (auto column = columns.begin(); std::getline(cells, cell, ','); ++column)
          if (column != seconds) out += cell + ",";
        out += "\n";
      }
      return out;
    };
    EXPECT_EQ(without_seconds(read_file(straight / "metrics.csv")),
              without_seconds(read_file(broken / "metrics.csv")));
  }
}

TEST_F(TrainerTest, AFloatRunResumesBitForBitPastARebuiltGap) {
  const auto floats = config({"run.precision=float", "algorithm.rounds=150"});
  const auto step_to = [](Trainer& trainer, std::uint32_t round) {
    while (trainer.round() < round) trainer.step();
  };
  Trainer straight(assemble(floats)), broken(assemble(floats)), resumed(assemble(floats));
  step_to(broken, 50);
  resumed.restore(broken.checkpoint(), "checkpoint");
  step_to(straight, 150);
  step_to(resumed, 150);
  EXPECT_EQ(straight.checkpoint().matrices.at("U").values,
            resumed.checkpoint().matrices.at("U").values);
  EXPECT_EQ(model_bytes(straight), model_bytes(resumed));
}

TEST_F(TrainerTest, PeriodicCheckpointsSurviveAKill) {
  const auto folder_path = dir_ / "killed";
  {
    Trainer trainer(assemble(config({"run.checkpoint=every:10"})));
    RunFolder folder(folder_path, trainer, ExistingRun::refuse);
    train_until_killed(trainer, folder, 25);
    EXPECT_FALSE(fs::exists(folder_path / "model.npz"));
  }
  Trainer straight(assemble(config()));
  train(straight);
  Trainer trainer(assemble(config({"run.checkpoint=every:10"})));
  RunFolder folder(folder_path, trainer, ExistingRun::resume);
  folder.restore(trainer);
  EXPECT_EQ(trainer.round(), 20U);
  train_in_folder(trainer, folder, {});
  EXPECT_EQ(model_bytes(trainer), model_bytes(straight));
}

TEST_F(TrainerTest, ARunKilledBeforeItsFirstPeriodResumesFromItsStart) {
  const auto path = dir_ / "early";
  const auto periodic = config({"run.checkpoint=every:50"});
  {
    Trainer trainer(assemble(periodic));
    RunFolder folder(path, trainer, ExistingRun::refuse);
    EXPECT_THROW(train_in_folder(trainer, folder,
                                 {{.before_round =
                                       [](std::uint32_t round) {
                                         if (round == 9) throw std::runtime_error("killed");
                                       }}}),
                 std::runtime_error);
  }
  Trainer trainer(assemble(periodic));
  RunFolder folder(path, trainer, ExistingRun::resume);
  EXPECT_NO_THROW(folder.restore(trainer));
  EXPECT_EQ(trainer.round(), 0U);
}

TEST_F(TrainerTest, AFolderWithARunIsRefusedResumedOrReplaced) {
  const auto path = dir_ / "run";
  Trainer trainer(assemble(config()));
  { RunFolder folder(path, trainer, ExistingRun::refuse); }
  EXPECT_THROW(RunFolder(path, trainer, ExistingRun::refuse), Error);
  Trainer other(assemble(config({"algorithm.step=0.2"})));
  try {
    RunFolder(path, other, ExistingRun::resume);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("algorithm.step: the folder says 0.1, this command says 0.2"),
              std::string::npos)
        << text;
  }
  Trainer threads(assemble(config({"run.threads=2"})));
  EXPECT_NO_THROW(RunFolder(path, threads, ExistingRun::resume));
  EXPECT_FALSE(RunFolder::is_extension(path, config({"run.engine=mpi"})));
  EXPECT_THROW(RunFolder::is_extension(path, config({"run.engine=tls"})), Error);
  write_file(path / "notes.txt", "mine");
  write_file(path / "model.npz", "old");
  EXPECT_NO_THROW(RunFolder(path, other, ExistingRun::replace));
  EXPECT_FALSE(fs::exists(path / "model.npz"));
  EXPECT_EQ(read_file(path / "notes.txt"), "mine");
  EXPECT_THROW(RunFolder(dir_ / "absent", trainer, ExistingRun::resume), Error);
  // A folder with other people's files is never touched.
  fs::create_directories(dir_ / "mine");
  write_file(dir_ / "mine" / "thesis.txt", "x");
  EXPECT_THROW(RunFolder(dir_ / "mine", trainer, ExistingRun::replace), Error);
  EXPECT_EQ(read_file(dir_ / "mine" / "thesis.txt"), "x");
}

TEST_F(TrainerTest, ACheckpointOfAnotherShapeIsRefused) {
  Trainer trainer(assemble(config()));
  auto checkpoint = trainer.checkpoint();
  checkpoint.matrices["X"] = {{4, 3}, std::vector<double>(12)};
  EXPECT_THROW(trainer.restore(checkpoint, "c.npz"), Error);
  checkpoint.matrices.erase("X");
  EXPECT_THROW(trainer.restore(checkpoint, "c.npz"), Error);
}

TEST_F(TrainerTest, ACheckpointOfAnotherFormatIsRefusedByItsName) {
  Trainer trainer(assemble(config()));
  auto members = to_npz(trainer.checkpoint());
  EXPECT_NO_THROW(to_checkpoint(members, "c.npz"));
  const auto refusal = [&] {
    try {
      to_checkpoint(members, "c.npz");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  members["version"].values = {99};
  EXPECT_NE(refusal().find("c.npz: a checkpoint of format 99, but"), std::string::npos)
      << refusal();
  members.erase("version");
  EXPECT_NE(refusal().find("format 1 (porter 0.1)"), std::string::npos) << refusal();
}

// Not after the training: the parameters of all agents go into one file of at most 4 GiB.
TEST_F(TrainerTest, AModelThatNoFileHoldsIsRefusedAtTheStart) {
  struct Huge final : Model {
    std::size_t dim() const override { return 5'400'000; }
    double loss(std::span<const double>, const Sample&, std::span<double>) const override {
      return 0;
    }
    double predict(std::span<const double>, const Sample&) const override { return 0; }
  };
  struct Idle final : Algorithm {
    void step(std::uint32_t) override {}
    const Rows& iterates() const override { return rows; }
    Traffic& traffic() override { return none; }
    std::vector<NamedRows> state() override { return {}; }
    Rows rows;
    Traffic none;
  };
  Trainer trainer(
      assemble(config({"network.agents=100", "network.mixing=metropolis", "algorithm.start=zeros",
                       "algorithm.name=beer", "run.engine=mpi", "run.evaluate=end"}),
               {.model = std::make_shared<Huge>(),
                .algorithm = [](const AlgorithmSetup&) { return std::make_unique<Idle>(); }}));
  try {
    RunFolder(dir_ / "huge", trainer, ExistingRun::refuse);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4 GiB"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(dir_ / "huge"));
}

TEST_F(TrainerTest, AMatrixWithoutRowsIsADamagedCheckpoint) {
  Checkpoint part;
  part.matrices["X"] = {{}, {1.0}};
  EXPECT_THROW(merge_checkpoints({part, part}, {"a", "b"}), Error);
}

TEST_F(TrainerTest, SummaryHoldsTheContract) {
  Trainer trainer(assemble(config()));
  RunFolder folder(dir_ / "run", trainer, ExistingRun::refuse);
  train_in_folder(trainer, folder, {});
  const auto summary = nlohmann::json::parse(read_file(dir_ / "run" / "summary.json"));
  for (const char* key : {"last", "best", "d", "k", "rho", "alpha", "n", "m", "sigma", "epsilon",
                          "seconds_per_round", "bytes_sent_per_agent"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_LE(summary["epsilon"][0], summary["epsilon"][1]);
  EXPECT_EQ(summary["d"], 7);
  EXPECT_EQ(summary["k"], 2);
  EXPECT_EQ(summary["last"]["round"], 60);
  EXPECT_EQ(summary["bytes_sent_per_agent"], 60 * 2 * (2 * 4 + 4));
  const auto model = load_npz(dir_ / "run" / "model.npz");
  EXPECT_EQ(model.at("X").shape, (std::vector<std::size_t>{4, 7}));
  EXPECT_EQ(model.at("x_mean").shape, (std::vector<std::size_t>{7}));
  // The written config reproduces the run.
  Trainer again(assemble(load_config(dir_ / "run" / "config.toml")));
  train(again);
  EXPECT_EQ(model_bytes(again), read_file(dir_ / "run" / "model.npz"));
}

}  // namespace
}  // namespace porter
