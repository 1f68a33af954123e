// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "grid/sweep.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"

namespace porter {

/// A small CSV problem, a config on it, and sweeps over the config.
class SweepTest : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;

  SweepTest() {
    write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false)));
    write_file(dir_ / "c.toml", kConfig);
  }

  Sweep sweep(const std::vector<std::pair<std::string, std::string>>& vary,
              SweepOptions options = {}, const std::vector<std::string>& overrides = {}) {
    options.vary = vary;
    if (!options.seeds) options.seeds = 2;
    return load_sweep(dir_ / "c.toml", overrides, options);
  }
  std::string error_of(const std::vector<std::pair<std::string, std::string>>& vary,
                       const SweepOptions& options = {}) {
    try {
      sweep(vary, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "no error";
  }
  /// The bytes of results.csv after a sweep into a new folder.
  std::string results(const Sweep& sweep, const std::string& out, std::size_t jobs = 2) {
    EXPECT_TRUE(run_sweep(sweep, dir_ / out, ExistingRun::refuse, {.jobs = jobs}));
    return read_file(dir_ / out / "results.csv");
  }
  /// The same with a stop after every `runs` runs and a resumption each time.
  std::string results_in_pieces(const Sweep& sweep, const std::string& out, int runs) {
    bool done = false;
    for (int piece = 0; piece < 100 && !done; ++piece) {
      std::atomic<int> seen = 0;
      std::atomic<bool> counting = false;
      done = run_sweep(sweep, dir_ / out, piece == 0 ? ExistingRun::refuse : ExistingRun::resume,
                       {.jobs = 2,
                        .stop_requested = [&] { return seen >= runs; },
                        .after_round = [&](const GridCounters&, std::size_t) { counting = true; },
                        .after_run =
                            [&](const GridRun&) {
                              if (counting) ++seen;  // those of earlier pieces do not count
                            }})
                 .has_value();
    }
    EXPECT_TRUE(done);
    return read_file(dir_ / out / "results.csv");
  }

  static constexpr const char* kConfig =
      "[data]\ntrain = \"train.csv\"\ntest = \"train.csv\"\n[network]\nagents = 4\ngraph = "
      "\"ring\"\n"
      "[algorithm]\nname = \"porter-gc\"\nrounds = 40\nstep = 0.1\nconsensus = 0.2\n"
      "compressor = \"random_k:0.4\"\nbatch = 4\n";
  TempDir dir_;
};

}  // namespace porter
