// SPDX-License-Identifier: Apache-2.0
#include "cuda/offer.hpp"

#include <gtest/gtest.h>

#include "porter/train/trainer.hpp"
#include "says.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

RunParts parts_of(std::vector<std::string> overrides, std::size_t classes = 2) {
  overrides.insert(overrides.begin(),
                   {"run.engine=\"cuda\"", "network.agents=4", "algorithm.rounds=3",
                    "algorithm.step=0.1", "algorithm.consensus=0.3"});
  auto train = std::make_shared<const Dataset>(toy_data(80, 30, classes, false));
  return assemble(parse_config("", "c.toml", overrides),
                  {.data = RunData{.train = train, .test = nullptr, .source = "toys"}});
}

bool is_refused(const std::vector<std::string>& overrides, const std::string& text,
                std::size_t classes = 2) {
  return says(what_fails([&] { cuda::offered(parts_of(overrides, classes)); }), text);
}

TEST(CudaOffer, TakesWhatItHas) {
  for (const char* method :
       {"porter-dp", "porter-sweep", "sweep-led", "motef", "choco-sgd", "dsgd", "dp-dsgd", "dsgt"})
    EXPECT_EQ(cuda::offered(parts_of({concat("algorithm.name=", method)})).algorithm, method);
  EXPECT_NO_THROW(cuda::offered(parts_of({"algorithm.mask=sweep", "algorithm.momentum=0.5"})));
  EXPECT_NO_THROW(cuda::offered(parts_of({"privacy.sampler=poisson", "algorithm.batch=2"})));
  const auto layers = cuda::offered(
      parts_of({"model.name=layers", "model.layers=[\"conv:2x2\",\"tanh\"]", "data.image=5x6"}));
  EXPECT_EQ(layers.model.image, (ImageShape{5, 6}));
}

TEST(CudaOffer, RefusesTheRestByName) {
  EXPECT_TRUE(is_refused({"algorithm.name=lead", "algorithm.compressor=\"qsgd:6\""},
                         "does not offer algorithm.name = \"lead\"; it has porter-dp, "));
  EXPECT_TRUE(is_refused({"algorithm.name=motef-vr", "algorithm.clip=smooth:1", "privacy.sigma=1",
                          "privacy.calibration=sigma"},
                         "does not offer algorithm.name = \"motef-vr\""));
  EXPECT_TRUE(is_refused({"algorithm.name=dsgd", "network.dropout=0.1"}, "a network that changes"));
  EXPECT_TRUE(is_refused({"privacy.sampler=poisson"},
                         "privacy.sampler = \"poisson\" with algorithm.batch = 1"));
  EXPECT_TRUE(is_refused(
      {"model.name=layers", "model.layers=[\"conv:2x2\"]", "data.image=5x6", "model.lambda=0.1"},
      "model.lambda > 0 for layers"));
  EXPECT_TRUE(is_refused({"data.weigh=agents"}, "agents with rates or noise of their own"));
  EXPECT_TRUE(
      is_refused({"privacy.budgets=[1, 1, 1, 2]"}, "agents with rates or noise of their own"));
  EXPECT_TRUE(is_refused({"privacy.phases=2x1,1x0.5"}, "rounds that differ"));
  EXPECT_TRUE(is_refused({"privacy.shape=pairwise", "algorithm.compressor=identity"},
                         "noise that neighbours share"));
  EXPECT_TRUE(is_refused({"model.name=softmax", "model.lambda=0.1", "algorithm.batch=2"},
                         "model.lambda > 0 for softmax with batches"));
  EXPECT_TRUE(is_refused({"model.name=mlp", "model.loss=squared"},
                         "a regression (model.loss) by model.name = \"mlp\"", 0));
  EXPECT_TRUE(
      is_refused({"privacy.noise=secure", "privacy.delta=1e-5"}, "privacy.noise = \"secure\""));
}

TEST(CudaOffer, SaysWhereTheProcessorIsFaster) {
  EXPECT_NE(cuda::advice(parts_of({})).find("\"simulate\" is faster"), std::string::npos);
  EXPECT_EQ(cuda::advice(parts_of({"model.name=mlp", "model.hidden=[400]"})), "");
}

TEST(CudaOffer, NobodyComputesElsewhereUnasked) {
  EXPECT_TRUE(says(what_fails([] { Trainer trainer(parts_of({})); }), "programs that call "));
}

}  // namespace
}  // namespace porter
