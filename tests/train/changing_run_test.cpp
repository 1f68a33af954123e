// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

class ChangingRun : public testing::Test {
 protected:
  ChangingRun() { write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false))); }

  Trainer trainer(std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(),
                     {"data.train=" + (dir_ / "train.csv").string(), "network.agents=4",
                      "network.graph=ring", "network.mixing=metropolis", "algorithm.name=dp-dsgd",
                      "algorithm.rounds=40", "algorithm.step=0.1", "run.threads=1"});
    return Trainer(assemble(parse_config("", "test", overrides)));
  }

  TempDir dir_;
};

Rows after(Trainer& trainer, std::uint32_t rounds) {
  while (trainer.round() < rounds) trainer.step();
  return trainer.algorithm().iterates();
}

TEST_F(ChangingRun, WithoutAbsencesHasTheBitsOfARunWithoutTheKey) {
  auto plain = trainer({}), never = trainer({"network.dropout=0"});
  EXPECT_EQ(after(plain, 40), after(never, 40));
}

TEST_F(ChangingRun, ResumesInTheMiddleBitForBit) {
  for (const char* schedule : {"static", "matching", "one-peer", "epidemic:2"}) {
    SCOPED_TRACE(schedule);
    const std::vector<std::string> keys = {concat("network.schedule=", schedule),
                                           "network.dropout=0.3", "network.compute=1",
                                           "network.straggling=1", "network.latency=0.5"};
    auto straight = trainer(keys), broken = trainer(keys), resumed = trainer(keys);
    after(broken, 17);
    const auto npz = to_npz(broken.checkpoint());
    resumed.restore(to_checkpoint(npz, "checkpoint"), "checkpoint");
    EXPECT_EQ(resumed.measure().seconds, broken.measure().seconds);
    EXPECT_EQ(after(straight, 40), after(resumed, 40));
    EXPECT_EQ(straight.measure().seconds, resumed.measure().seconds);
    EXPECT_GT(straight.measure().seconds, 20);
  }
}

TEST_F(ChangingRun, StatesThatAllRoundsAreCounted) {
  auto run = trainer({"network.dropout=0.3"});
  after(run, 40);
  EXPECT_EQ(run.releases(), 40U);
  EXPECT_NE(privacy_json(run).find("epsilon is an upper bound"), std::string::npos);
}

TEST_F(ChangingRun, NamesTheKeyThatDoesNotFit) {
  const auto error_of = [&](const std::vector<std::string>& keys) -> std::string {
    try {
      trainer(keys);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(error_of({"network.schedule=epidemic:4"}).find("network.schedule: epidemic"),
            std::string::npos);
  write_file(dir_ / "away.csv", "agent,from,to\n4,1,2\n");
  const auto file = (dir_ / "away.csv").string();
  EXPECT_NE(error_of({"network.dropout=trace:" + file}).find("network.dropout: " + file + ":2"),
            std::string::npos);
}

}  // namespace
}  // namespace porter
