// SPDX-License-Identifier: Apache-2.0
// A private run killed at random moments and resumed each time: the ledger never forgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <thread>

#include "command.hpp"
#include "io/file.hpp"
#include "porter/core/rng.hpp"
#include "porter/privacy/ledger.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// The last round that metrics.csv shows: by then its messages had been sent.
std::uint64_t last_round(const fs::path& metrics) {
  if (!fs::exists(metrics)) return 0;
  std::istringstream in(read_file(metrics));
  std::string line;
  std::uint64_t round = 0;
  while (std::getline(in, line) && !in.eof())
    round = std::max<std::uint64_t>(round, std::strtoull(line.c_str(), nullptr, 10));
  return round;
}

void wait_for_charge(const fs::path& ledger, std::uint64_t charges) {
  for (int tries = 0; tries < 3000; ++tries) {
    if (fs::exists(ledger) && read_ledger(ledger).charges > charges) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "no round in 30 seconds";
}

TEST(KilledRun, TheLedgerNeverForgetsWhatWasSent) {
  const TempDir dir;
  std::string train;
  for (int i = 0; i < 40; ++i)
    train +=
        std::to_string(i % 7) + "," + std::to_string(i % 3) + "," + std::to_string(i % 2) + "\n";
  write_file(dir / "train.csv", train);
  write_file(
      dir / "c.toml",
      "[data]\ntrain = \"train.csv\"\nfeatures = 2\nclasses = [0, 1]\n[network]\nagents = 2\ngraph "
      "= \"path\"\n[algorithm]\nrounds "
      "= 20000\n"
      "compressor = \"identity\"\n[privacy]\nnoise = \"secure\"\nsigma = 100\nepsilon = 1000\n"
      "[run]\nevaluate = \"every:1\"\ncheckpoint = \"every:7\"\n");
  const auto out = dir / "out";
  RngStream rng(1, Draw::test, 0, 0);
  std::array<std::uint64_t, 2> charges{};  // that each agent's ledger has shown
  for (int kill_number = 0; kill_number < 50; ++kill_number) {
    std::vector<std::string> arguments = {"run", "c.toml", "--out", out.string()};
    if (fs::exists(out / "config.toml")) arguments.push_back("--resume");
    RunningPorter run(dir.path(), arguments, dir / "log");
    // Half of the kills come at any time, also while the run starts; the others while it runs.
    if (kill_number % 2 == 1) wait_for_charge(out / "ledger" / "agent-0.ledger", charges[0]);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(rng.below(kill_number % 2 == 1 ? 30 : 250)));
    ASSERT_EQ(run.stop(SIGKILL), 128 + SIGKILL) << read_file(dir / "log");
    for (std::size_t agent = 0; agent < 2; ++agent) {
      const auto file = out / "ledger" / ("agent-" + std::to_string(agent) + ".ledger");
      if (!fs::exists(file)) {
        EXPECT_EQ(last_round(out / "metrics.csv"), 0U);
        continue;
      }
      const auto view = read_ledger(file);
      EXPECT_GE(view.charges, last_round(out / "metrics.csv"));
      EXPECT_GE(view.charges, charges[agent]);
      charges[agent] = view.charges;
    }
  }
  EXPECT_GE(charges[0], 25U);
}

}  // namespace
}  // namespace porter
