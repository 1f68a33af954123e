// SPDX-License-Identifier: Apache-2.0
// Networks over images, and batches of random size.
#pragma once

#include "cases.hpp"

namespace porter {

/// Images of 6 x 5 pixels.
inline Case layers_case(std::string name, std::vector<std::string> layers, std::size_t batch) {
  return {.name = std::move(name),
          .features = 30,
          .batch = batch,
          .model = {.name = "layers", .layers = std::move(layers), .image = {6, 5}},
          .rounds = 3};
}

inline std::vector<Case> stack_cases() {
  using Layers = std::vector<std::string>;
  const std::pair<const char*, Layers> stacks[] = {
      {"convolution", {"conv:3x3", "tanh"}},
      {"strides and padding", {"conv:5x3/2+2", "sigmoid", "conv:2x2/1+1", "relu"}},
      {"pools", {"maxpool:2/1", "conv:3x2", "tanh", "maxpool:2", "dense:4", "tanh"}},
      {"means", {"conv:4x2", "relu", "avgpool:2/1", "avgpool:2", "dense:3"}},
      {"norms", {"conv:4x3+1", "groupnorm:2", "tanh", "maxpool:2", "groupnorm:4", "dense:5"}},
      {"a norm first", {"groupnorm:1", "relu", "conv:2x3/2", "tanh"}},
      {"dense", {"dense:7", "tanh", "dense:6", "sigmoid"}},
      {"tempered", {"conv:3x3/1+1", "tempered:1.58:3:0.71", "dense:5", "tempered:1:4:0.5"}},
      {"no layers of one's own", {}},
  };
  std::vector<Case> cases;
  for (const auto& [name, layers] : stacks)
    for (const std::size_t batch : {1, 4, 9}) {
      cases.push_back(layers_case(name, layers, batch));
      cases.push_back(layers_case(concat(name, ", porter-gc"), layers, batch));
      cases.back().algorithm = "porter-gc";
    }
  const auto with = [&](const char* name, std::size_t batch, const auto& change) {
    auto c = layers_case(name, {"conv:3x3/2+1", "groupnorm:1", "tanh", "maxpool:2/1"}, batch);
    change(c);
    cases.push_back(c);
  };
  with("beer", 4, [](Case& c) { c.algorithm = "beer"; });
  with("sparse images", 4, [](Case& c) { c.sparse = true; });
  with("a sparse image", 1, [](Case& c) { c.sparse = true; });
  with("broken images", 6, [](Case& c) { c.broken = true; });
  with("a broken image", 1, [](Case& c) { c.broken = true, c.rows_per_agent = 2; });
  with("pictures", 5, [](Case& c) { c.pictures = true, c.rounds = 8; });
  with("one agent", 5, [](Case& c) { c.agents = 1, c.compressor = "identity"; });
  with("choco-sgd", 4, [](Case& c) { c.algorithm = "choco-sgd"; });
  with("porter-sweep", 3, [](Case& c) { c.algorithm = "porter-sweep", c.momentum = 0.2; });
  with("porter-dp with top_k", 3, [](Case& c) { c.compressor = "top_k:0.2"; });
  auto cnn = layers_case("the published network", {}, 3);
  cnn.features = 400;
  cnn.model = {.name = "cnn", .image = {20, 20}};
  cnn.agents = 2;
  cnn.rows_per_agent = 4;
  cases.push_back(cnn);
  return cases;
}

inline constexpr std::uint32_t kLongRounds = 300;

/// Expected sizes from 2 on, so that batches are empty, of one sample, and larger than any before.
inline std::vector<Case> poisson_cases() {
  const ModelOptions logistic{.name = "logistic", .lambda = 0.1};
  std::vector<Case> cases = {
      {.name = "mlp", .batch = 2},
      {.name = "mlp, larger", .rows_per_agent = 60, .batch = 20},
      {.name = "porter-gc", .algorithm = "porter-gc", .batch = 2},
      {.name = "softmax of sparse rows", .batch = 2, .model = {.name = "softmax"}, .sparse = true},
      {.name = "pictures in several blocks",
       .agents = 3,
       .rows_per_agent = 300,
       .batch = 200,
       .pictures = true},
      {.name = "broken", .batch = 3, .broken = true},
      {.name = "logistic", .classes = 2, .batch = 2, .model = logistic},
      {.name = "logistic, sparse", .classes = 2, .batch = 2, .model = logistic, .sparse = true},
      {.name = "logistic, porter-gc",
       .algorithm = "porter-gc",
       .classes = 2,
       .batch = 2,
       .model = {.name = "logistic"}},
      {.name = "choco-sgd", .algorithm = "choco-sgd", .batch = 2},
      {.name = "sweep-led", .algorithm = "sweep-led", .batch = 2, .momentum = 0.3},
      {.name = "long", .rows_per_agent = 40, .batch = 2},
      layers_case("layers", {"conv:3x3/2+1", "tanh", "maxpool:2/1", "dense:4", "tanh"}, 2),
      layers_case("layers, porter-gc", {"conv:3x3", "relu"}, 2),
  };
  cases.back().algorithm = "porter-gc";
  for (auto& c : cases) {
    c.sampler = Sampler::poisson;
    c.rounds = c.name == "long" ? kLongRounds : 20;
  }
  return cases;
}

}  // namespace porter
