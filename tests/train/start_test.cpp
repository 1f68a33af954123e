// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

class StartTest : public testing::Test {
 protected:
  StartTest() { write_file(dir_ / "train.csv", "0.5,1,0\n-1,2,1\n0.25,-1,0\n2,3,1\n"); }

  // Two features and two classes.
  std::vector<double> start(const std::string& spec, std::vector<std::string> overrides = {}) {
    overrides.insert(
        overrides.begin(),
        {"data.train=" + (dir_ / "train.csv").string(), "network.agents=2",
         "network.graph=complete", "algorithm.rounds=1", "run.threads=1", "algorithm.name=beer",
         "algorithm.compressor=identity", "algorithm.start=" + spec});
    Trainer trainer(assemble(parse_config("", "test", overrides)));
    const auto x = trainer.algorithm().iterates().row(1);
    return {x.begin(), x.end()};
  }

  TempDir dir_;
};

// Iterates are published as float.
constexpr double kRounding = 1e-6;

// numpy.random.seed(0); numpy.random.randn(3)
TEST_F(StartTest, NumpyNormalsAreThoseOfNumpy) {
  const auto x = start("numpy:0.2:0");
  const double expected[] = {1.764052345967664, 0.4001572083672233, 0.9787379841057392};
  ASSERT_EQ(x.size(), std::size(expected));
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], expected[j] / 5, kRounding) << j;
}

// numpy.random.seed(7); randn(15) as (2 + 1) x (2 + 1), whose last column is the constant unit's,
// and (2 + 1) x 2.
TEST_F(StartTest, NumpyNormalsFillThePerceptronLayerByLayer) {
  const double drawn[] = {1.690525703800356,   -0.4659373705408328, 0.0328201636785844,
                          0.40751628299650783, -0.7889230286257386, 0.00206557290594813,
                          -0.0008903858579313, -1.7547243063454208, 1.0176580056634932,
                          0.6004985159195494,  -0.6254289739667597, -0.17154826119572117,
                          0.5052993741967516,  -0.261356415191647,  -0.2427490786725466};
  const std::size_t order[] = {0, 3, 1, 4, 6, 7, 9, 11, 10, 12, 13, 14};
  const auto x = start("numpy:1:7", {"model.name=mlp", "model.hidden=[2]"});
  ASSERT_EQ(x.size(), std::size(order));
  for (std::size_t j = 0; j < x.size(); ++j)
    EXPECT_NEAR(x[j], drawn[order[j]], kRounding) << "parameter " << j;
}

// Both draw the same normals: what differs is the size of each part.
TEST_F(StartTest, FanInMakesWeightsSmallerTheMoreInputsTheyHave) {
  const std::vector<std::string> mlp = {"model.name=mlp", "model.hidden=[3]"};
  const auto x = start("fan-in:2", mlp), normal = start("normal:1", mlp);
  ASSERT_EQ(x.size(), 2U * 3 + 3 + 3 * 2 + 2);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double size = j < 6 ? 2 / std::sqrt(2.0) : j >= 9 && j < 15 ? 2 / std::sqrt(3.0) : 0;
    EXPECT_NEAR(x[j], size * normal[j], kRounding) << j;
  }
  EXPECT_EQ(start("fan-in:1", {"model.name=logistic"}).size(), 3U);
}

TEST_F(StartTest, FanInLetsGroupNormsThroughAsTheyAre) {
  const auto x = start("fan-in:1", {"model.name=layers", "data.image=1x2",
                                    R"(model.layers=["conv:2x1", "groupnorm:1", "dense:3"])"});
  ASSERT_EQ(x.size(), 2U * 2 + 2 * 2 + 3 * 5 + 2 * 4);
  for (const std::size_t norm : {4, 5, 6, 7}) EXPECT_EQ(x[norm], 0) << norm;
  for (const std::size_t weight : {0, 1, 8, 19}) EXPECT_NE(x[weight], 0) << weight;
}

TEST_F(StartTest, OnlyNormalStartsFollowTheSeedOfTheRun) {
  EXPECT_EQ(start("numpy:1:7"), start("numpy:1:7", {"run.seed=2"}));
  EXPECT_NE(start("numpy:1:7"), start("numpy:1:8"));
  EXPECT_NE(start("normal:1"), start("normal:1", {"run.seed=2"}));
  EXPECT_EQ(start("zeros"), std::vector<double>(3, 0.0));
}

TEST_F(StartTest, WrongStartsNameTheKeyAndTheChoices) {
  for (const char* spec :
       {"numpy", "numpy:1", "numpy:1:-1", "numpy:1:x", "numpy:-1:0", "numpy:1:0:0", "normal:1:0",
        "normal:nan", "normal", "fan-in", "fan-in:1:2", "ones"}) {
    try {
      start(spec);
      ADD_FAILURE() << spec << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what())
                    .find("algorithm.start: expected zeros, normal:STDDEV, fan-in:GAIN, "
                          "numpy:STDDEV:SEED, file:x0.npy or model:model.npz, found"),
                std::string::npos)
          << spec << " gives: " << error.what();
    }
  }
}

}  // namespace
}  // namespace porter
