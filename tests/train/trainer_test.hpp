// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "porter/config/config.hpp"
#include "porter/io/npy.hpp"
#include "porter/train/trainer.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"
#include "train/run_folder.hpp"

namespace porter {

/// A small CSV problem and a config on it.
class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    write_file(dir_ / "train.csv", csv_text(toy_data(120, 6, 2, false)));
    write_file(dir_ / "test.csv", csv_text(toy_data(40, 6, 2, false, 1)));
  }

  Config config(std::vector<std::string> overrides = {}) {
    overrides.insert(
        overrides.begin(),
        {"data.train=" + (dir_ / "train.csv").string(), "data.test=" + (dir_ / "test.csv").string(),
         "network.agents=4", "network.graph=ring", "algorithm.rounds=60", "algorithm.step=0.1",
         "algorithm.consensus=0.2", "algorithm.compressor=random_k:0.4", "run.threads=1"});
    return parse_config("", "test", overrides);
  }

  TempDir dir_;
};

/// Thrown out of the middle, as a kill would: no final files.
inline void train_until_killed(Trainer& trainer, RunFolder& folder, std::uint32_t round) {
  const auto kill = [&] {
    if (trainer.round() == round) throw std::runtime_error("killed");
  };
  EXPECT_THROW(train_in_folder(trainer, folder, {{.after_round = kill}}), std::runtime_error);
}

inline std::string model_bytes(Trainer& trainer) {
  std::string bytes;
  trainer.with_model([&](const auto& model) { bytes = encode_npz(model); });
  return bytes;
}

}  // namespace porter
