// SPDX-License-Identifier: Apache-2.0
// A model that computes for all agents at once, and a method that is a function, against our own.
#include <gtest/gtest.h>

#include "porter/algo/scripted.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "says.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

// What `inner` computes, asked for once a round.
class Joined final : public Model {
 public:
  explicit Joined(std::shared_ptr<const Model> inner) : inner_(std::move(inner)) {}
  std::size_t dim() const override { return inner_->dim(); }
  double loss(std::span<const double> x, const Sample& sample, std::span<double> g) const override {
    return inner_->loss(x, sample, g);
  }
  double predict(std::span<const double> x, const Sample& sample) const override {
    return inner_->predict(x, sample);
  }
  bool joins_agents() const override { return true; }
  double gradient_sum(std::span<const double>, const BatchRequest&, std::span<double>,
                      Workspace&) const override {
    throw std::logic_error("asked for one agent");
  }
  void gradient_sums(std::span<const AgentBatch> agents) const override {
    ++calls;
    inner_->gradient_sums(agents);
  }
  mutable int calls = 0;

 private:
  std::shared_ptr<const Model> inner_;
};

Config config_of(const std::string& method, const std::vector<std::string>& more) {
  std::vector<std::string> overrides = {
      "algorithm.name=" + method, "network.agents=4",   "algorithm.rounds=12", "algorithm.batch=5",
      "algorithm.consensus=0.3",  "algorithm.step=0.2", "run.evaluate=end"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_config("", "c", overrides);
}

RunData toy_rows() {
  std::vector<Dataset> agents;
  for (std::uint32_t i = 0; i < 4; ++i) agents.push_back(toy_data(30, 6, 2, false, i));
  return join_agents(agents);
}

std::vector<double> trained(const Config& config, Sources sources) {
  sources.data = toy_rows();
  Trainer trainer(assemble(config, std::move(sources)));
  train(trainer);
  return trainer.algorithm().iterates().flat();
}

TEST(JoinedModel, GivesTheBitsOfOneAgentAfterTheOther) {
  const std::vector<std::string> noise = {"privacy.epsilon=4", "privacy.allow_large_delta=true"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"beer", {}},
      {"porter-gc", {}},
      {"porter-dp", noise},
      {"porter-dp", {noise[0], noise[1], "privacy.sampler=poisson"}},
      {"porter-sweep", noise},
      {"sweep-led", noise},
      {"dsgd", {"algorithm.compressor=identity"}},
      {"choco-sgd", {}},
      {"soteriafl-sgd", noise},
      {"dp-sgd", noise}};
  for (const auto& [method, more] : cases) {
    const auto config = config_of(method, more);
    const auto inner = std::shared_ptr(make_model({.name = "logistic"}, 6, 2));
    const auto joined = std::make_shared<Joined>(inner);
    EXPECT_EQ(trained(config, {.model = joined}), trained(config, {.model = inner})) << method;
    EXPECT_EQ(joined->calls, 12) << method << ": once a round";
  }
}

TEST(JoinedModel, IsRoundedOnceWhereTheStateIsFloat) {
  const auto config = config_of("porter-gc", {"run.precision=float"});
  const auto inner = std::shared_ptr(make_model({.name = "logistic"}, 6, 2));
  const auto one = trained(config, {.model = std::make_shared<Joined>(inner)});
  const auto other = trained(config, {.model = inner});
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-5);
}

// X <- X - eta G;   X <- X + gamma (W - I)^T Q
Sources choco(int mixes = 1, int releases = 1) {
  ScriptedMethod method;
  method.step = [=](ScriptedRound& round) {
    Rows& X = round.rows();
    for (int r = 0; r < releases; ++r) {
      const Rows& G = round.gradients(X);
      for (std::size_t i = 0; i < X.agents(); ++i)
        for (std::size_t j = 0; j < X.dim(); ++j) X.row(i)[j] += -0.2 * G.row(i)[j];
    }
    for (int m = 0; m < mixes; ++m) {
      const Rows& gap = round.mix(X);
      for (std::size_t i = 0; i < X.agents(); ++i)
        for (std::size_t j = 0; j < X.dim(); ++j) X.row(i)[j] += 0.3 * gap.row(i)[j];
    }
  };
  return {
      .algorithm = [method](const AlgorithmSetup& setup) { return make_scripted(setup, method); }};
}

TEST(ScriptedMethod, IsChocoSgdToTheBit) {
  const auto config = config_of("choco-sgd", {"algorithm.compressor=random_k:0.5"});
  EXPECT_EQ(trained(config, choco()), trained(config, {}));
}

TEST(ScriptedMethod, GoesOnFromACheckpointWithItsMatrices) {
  ScriptedMethod method;
  method.channels = {ScriptedMethod::From::zero, ScriptedMethod::From::start};
  method.matrices = {"V"};
  method.step = [](ScriptedRound& round) {
    Rows &X = round.rows(), &V = round.matrix("V");
    const Rows& G = round.gradients(X);
    const Rows& moved = round.mix(V);
    for (std::size_t i = 0; i < X.agents(); ++i)
      for (std::size_t j = 0; j < X.dim(); ++j)
        V.row(i)[j] = 0.5 * V.row(i)[j] + 0.3 * moved.row(i)[j] + G.row(i)[j];
    const Rows& gap = round.mix(X);
    for (std::size_t i = 0; i < X.agents(); ++i)
      for (std::size_t j = 0; j < X.dim(); ++j)
        X.row(i)[j] += 0.3 * gap.row(i)[j] - 0.1 * V.row(i)[j];
  };
  const auto config = config_of("choco-sgd", {"algorithm.compressor=random_k:0.5"});
  const auto parts = [&] {
    Sources sources;
    sources.data = toy_rows();
    sources.algorithm = [&](const AlgorithmSetup& setup) { return make_scripted(setup, method); };
    return assemble(config, std::move(sources));
  };
  Trainer whole(parts()), half(parts()), rest(parts());
  train(whole);
  for (int i = 0; i < 5; ++i) half.step();
  rest.restore(half.checkpoint(), "half");
  train(rest);
  EXPECT_EQ(rest.algorithm().iterates().flat(), whole.algorithm().iterates().flat());
  EXPECT_EQ(rest.traffic().link_bytes, whole.traffic().link_bytes);
}

TEST(ScriptedMethod, HasMatricesWithNamesOfTheirOwn) {
  for (const auto& names : std::vector<std::vector<std::string>>{{"Q0"}, {"X"}, {"V", "V"}}) {
    ScriptedMethod method;
    method.matrices = names;
    Sources sources;
    sources.data = toy_rows();
    sources.algorithm = [&](const AlgorithmSetup& setup) { return make_scripted(setup, method); };
    EXPECT_THROW(Trainer(assemble(config_of("choco-sgd", {}), std::move(sources))), Error);
  }
}

TEST(ScriptedMethod, SaysWhatItMayNotDo) {
  const auto config = config_of("choco-sgd", {});
  const auto failure = [&](const Sources& sources) {
    try {
      trained(config, sources);
    } catch (const Error& error) {
      return std::pair(error.kind(), std::string(error.what()));
    }
    return std::pair(ErrorKind::io, std::string("no error"));
  };
  const auto twice = failure(choco(1, 2));
  EXPECT_EQ(twice.first, ErrorKind::privacy);
  EXPECT_NE(twice.second.find("each is a release"), std::string::npos) << twice.second;
  for (const int mixes : {0, 2})
    EXPECT_NE(failure(choco(mixes)).second.find("channels"), std::string::npos) << mixes;
}

}  // namespace
}  // namespace porter
