// SPDX-License-Identifier: Apache-2.0
#include "train/dense_positions.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "porter/core/error.hpp"
#include "porter/train/train.hpp"

namespace porter {
namespace {

const std::vector<ParameterBlock> kBlocks =
    parameter_blocks({.name = "mlp", .hidden = {64}}, 784, 10);

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(DensePositions, AreThoseOfTheNamedParameters) {
  EXPECT_EQ(dense_positions("", kBlocks), range(0, 0));
  EXPECT_EQ(dense_positions("W2,b2", kBlocks), range(50'240, 50'890));
  EXPECT_EQ(dense_positions("b2,W2", kBlocks), range(50'240, 50'890));
  EXPECT_EQ(dense_positions("b1", kBlocks), range(50'176, 50'240));
}

TEST(DensePositions, OfOtherNamesAreRefusedWithThoseThereAre) {
  for (const char* names : {"W3", "W2,", ",", "W2, b2", "w2", "W2,b2,W2"}) {
    try {
      dense_positions(names, kBlocks);
      ADD_FAILURE() << names;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      const std::string text = error.what();
      EXPECT_TRUE(text.find("W1, b1, W2, b2") != text.npos || text.find("twice") != text.npos)
          << text;
    }
  }
}

// 4 bytes for a value, 4 for the checksum of a vector.
TEST(DensePositions, AreCountedInEveryMessage) {
  for (const auto& [method, vectors] : {std::pair("porter-sweep", 2U), {"sweep-led", 1U}}) {
    const auto config = parse_config(
        "", "",
        {"data.name=synthetic-digits", "model.name=mlp", "model.hidden=[3]", "network.agents=4",
         std::string("algorithm.name=") + method, "algorithm.rounds=7", "algorithm.dense=W2,b2",
         "algorithm.compressor=random_k:0.25", "privacy.calibration=sigma", "privacy.sigma=0"});
    Trainer trainer(assemble(config));
    const auto d = trainer.parts().facts.dim, k = *trainer.parts().facts.compression.kept;
    const auto dense = trainer.parts().dense.size();
    EXPECT_EQ(dense, 3U * 10 + 10);
    const auto blocks = (d - dense + k - 1) / k, size = (d - dense + blocks - 1) / blocks;
    ASSERT_GT(blocks, 3U);
    for (int round = 1; round <= 3; ++round) trainer.step();
    EXPECT_EQ(trainer.traffic().message_bytes, 3 * 4 * vectors * (4 * (size + dense) + 4));
  }
}

TEST(DensePositions, OfAModelWithoutNamesAreRefused) {
  const auto config = parse_config(
      "", "", {"data.name=synthetic", "algorithm.name=sweep-led", "algorithm.dense=w"});
  EXPECT_THROW(Trainer{assemble(config)}, Error);  // all of it
  const std::shared_ptr<const Model> own = make_model({.name = "logistic"}, 11, 2);
  try {
    assemble(config, {.model = own});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("algorithm.dense: "), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace porter
