// SPDX-License-Identifier: Apache-2.0
#include "offer.hpp"

#include <algorithm>
#include <iterator>

#include "core/text.hpp"
#include "perceptron.hpp"
#include "porter/core/error.hpp"
#include "train/small_round.hpp"

namespace porter::cuda {
namespace {

constexpr std::string_view kMethods[] = {"porter-dp", "porter-gc", "porter-sweep", "sweep-led",
                                         "beer",      "motef",     "choco-sgd",    "dsgd",
                                         "dp-dsgd",   "dsgt"};
constexpr std::string_view kModels[] = {"logistic", "linear", "softmax", "mlp", "layers", "cnn"};
constexpr std::string_view kCompressors[] = {"identity", "random_k", "bernoulli", "top_k",
                                             "qsgd",     "gsgd",     "sign",      "natural"};

template <class Names>
void expect_one_of(const char* key, std::string_view value, std::string_view name,
                   const Names& names) {
  if (std::find(std::begin(names), std::end(names), name) != std::end(names)) return;
  std::string list;
  for (const auto& each : names) list.append(list.empty() ? "" : ", ").append(each);
  fail(ErrorKind::usage, "run.engine = \"cuda\" does not offer ", key, " = \"", value,
       "\"; it has ", list);
}

void expect(bool offered, std::string_view what) {
  require(offered, ErrorKind::usage, "run.engine = \"cuda\" does not offer ", what,
          "; run.engine = \"simulate\" does");
}

void expect_data(const RunParts& parts) {
  const auto& train = *parts.data.train;
  expect(!parts.data.holder, "the data of one agent alone");
  expect(train.weights.empty(), "records with weights (data.schema)");
  expect(std::ranges::none_of(train.voids, [](auto v) { return v != 0; }),
         "records that count for nothing (data.schema)");
}

void expect_model(const RunParts& parts) {
  const auto& model = parts.config.model;
  expect(!parts.own_model && !parts.own_method && !parts.own_compressor,
         "a model, method or compressor of one's own");
  expect_one_of("model.name", model.name, model.name, kModels);
  const auto& info = find_model(model.name);
  expect(!is_regression(model) || info.single_score(),
         concat("a regression (model.loss) by model.name = \"", model.name, '"'));
  expect(parts.data.train->outputs == 1, "several targets (data.targets)");
  expect(!info.layered || model.hidden.size() < kMaxLayers,
         concat("more than ", kMaxLayers - 1, " hidden layers (model.hidden)"));
  expect(info.single_score() || model.lambda == 0 || (parts.facts.batch == 1 && !info.takes_images),
         concat("model.lambda > 0 for ", model.name,
                info.takes_images ? "" : " with batches (algorithm.batch > 1)"));
}

}  // namespace

Request offered(const RunParts& parts) {
  const auto& config = parts.config;
  const auto& algorithm = config.algorithm;
  expect_one_of("algorithm.name", algorithm.name, algorithm.name, kMethods);
  expect_one_of("algorithm.compressor", algorithm.compressor, split_spec(algorithm.compressor).name,
                kCompressors);
  expect(!algorithm.unbiased, "algorithm.unbiased = true");
  expect(algorithm.acceleration == Acceleration::none, "algorithm.acceleration");
  expect(!algorithm.augment, "copies of images (algorithm.augment)");
  expect(!network_changes(config), "a network that changes (network.schedule, network.dropout)");
  require(!parts.privacy->secure(), ErrorKind::usage,
          "run.engine = \"cuda\" does not offer privacy.noise = \"secure\": secret noise and ",
          "batches are drawn one after the other from streams that never leave the processor; ",
          "run.engine = \"simulate\" has it");
  expect(parts.sampler().kind() != Sampler::poisson || parts.facts.batch > 1,
         "privacy.sampler = \"poisson\" with algorithm.batch = 1");
  expect(!shares_noise(config), "noise that neighbours share (privacy.shape)");
  expect(!agents_differ(config),
         "agents with rates or noise of their own (data.weigh, privacy.budgets)");
  expect(!rounds_differ(config), "rounds that differ (privacy.phases)");
  expect_model(parts);
  expect_data(parts);
  return {.model = config.model,
          .scores = parts.data.train->scores(),
          .algorithm = algorithm.name,
          .compressor = algorithm.compressor};
}

std::string advice(const RunParts& parts) {
  const auto& facts = parts.facts;
  if (!is_small_round(facts.agents, facts.dim, facts.batch)) return {};
  return concat("run.engine: a round of ", facts.agents * facts.dim * facts.batch,
                " coordinates of gradients (agents x parameters x batch) is so small that ",
                "\"simulate\" is faster than \"cuda\"");
}

}  // namespace porter::cuda
