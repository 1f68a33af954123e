// SPDX-License-Identifier: Apache-2.0
// The methods, compressors and models beside those of cases.hpp.
#pragma once

#include "cases.hpp"

namespace porter {

/// Of all compressors that are offered.
inline std::vector<std::string> offered_compressors() {
  return {"identity", "random_k:0.2", "bernoulli:0.2", "top_k:0.1",
          "qsgd:6",   "gsgd:4",       "sign",          "natural"};
}

// A model of more than two tiles.
inline Case with_several_tiles(Case c) {
  c.features = 260;
  c.model = {.name = "mlp", .hidden = {17}};
  c.rounds = 3;
  return c;
}

/// Every compressor by a method with one channel and by one with two, whose gaps are summed, or
/// stored.
inline std::vector<Case> compressor_cases() {
  std::vector<Case> cases;
  for (const auto& compressor : offered_compressors())
    for (const char* algorithm : {"porter-dp", "choco-sgd"}) {
      Case c{.name = concat(algorithm, " with ", compressor),
             .algorithm = algorithm,
             .compressor = compressor};
      cases.push_back(c);
      cases.push_back(with_several_tiles(c));
      c.name += " of many agents";
      c.agents = 34;
      c.rows_per_agent = 3;
      cases.push_back(c);
    }
  return cases;
}

inline std::vector<Case> method_cases() {
  const ModelOptions linear{.name = "linear", .lambda = 0.1};
  return {
      {.name = "choco-sgd", .algorithm = "choco-sgd"},
      {.name = "choco-sgd with batches and gossip steps",
       .algorithm = "choco-sgd",
       .batch = 4,
       .gossip = 3},
      {.name = "choco-sgd of few coordinates",
       .algorithm = "choco-sgd",
       .compressor = "random_k:0.02"},
      {.name = "choco-sgd, shared masks", .algorithm = "choco-sgd", .mask = Mask::shared},
      {.name = "choco-sgd that sweeps", .algorithm = "choco-sgd", .mask = Mask::sweep},
      {.name = "choco-sgd with momentum", .algorithm = "choco-sgd", .momentum = 0.2},
      {.name = "dsgd", .algorithm = "dsgd", .compressor = "identity"},
      {.name = "dsgd with batches and gossip steps",
       .algorithm = "dsgd",
       .compressor = "identity",
       .batch = 4,
       .gossip = 3},
      {.name = "dp-dsgd", .algorithm = "dp-dsgd", .compressor = "identity"},
      {.name = "dp-dsgd of many agents",
       .algorithm = "dp-dsgd",
       .compressor = "identity",
       .agents = 34,
       .rows_per_agent = 3},
      {.name = "dp-dsgd with momentum",
       .algorithm = "dp-dsgd",
       .compressor = "identity",
       .momentum = 0.2},
      {.name = "dsgt", .algorithm = "dsgt", .compressor = "identity"},
      {.name = "dsgt with momentum",
       .algorithm = "dsgt",
       .compressor = "identity",
       .gossip = 2,
       .momentum = 0.2},
      {.name = "motef", .algorithm = "motef", .momentum = 0.1},
      {.name = "motef with batches",
       .algorithm = "motef",
       .compressor = "top_k:0.2",
       .batch = 4,
       .gossip = 2,
       .momentum = 0.1},
      {.name = "porter-dp with momentum", .batch = 4, .momentum = 0.3},
      {.name = "porter-gc with top_k",
       .algorithm = "porter-gc",
       .compressor = "top_k:0.2",
       .batch = 4},
      {.name = "porter-sweep", .algorithm = "porter-sweep"},
      {.name = "porter-sweep with dense ones",
       .algorithm = "porter-sweep",
       .batch = 3,
       .gossip = 2,
       .dense = {0, 7, 100},
       .momentum = 0.2},
      with_several_tiles({.name = "porter-sweep of several tiles", .algorithm = "porter-sweep"}),
      {.name = "sweep-led", .algorithm = "sweep-led"},
      {.name = "sweep-led with dense ones",
       .algorithm = "sweep-led",
       .batch = 3,
       .gossip = 2,
       .dense = {0, 7, 100},
       .momentum = 0.2},
      {.name = "linear", .classes = 0, .model = linear},
      {.name = "linear with batches", .classes = 0, .batch = 4, .model = linear},
      {.name = "linear, squared, sparse",
       .algorithm = "choco-sgd",
       .classes = 0,
       .model = {.name = "linear", .loss = LossKind::squared},
       .sparse = true},
      {.name = "linear, huber",
       .algorithm = "dp-dsgd",
       .compressor = "identity",
       .classes = 0,
       .batch = 3,
       .model = {.name = "linear", .loss = LossKind::huber}},
  };
}

/// porter.cpp with masks that sweep, of which gaps are summed or stored; in both precisions.
inline std::vector<Case> sweep_cases() {
  return {
      {.name = "porter-dp that sweeps", .mask = Mask::sweep},
      {.name = "porter-dp that sweeps, with dense ones",
       .compressor = "random_k:0.02",
       .mask = Mask::sweep,
       .dense = {3, 50}},
      with_several_tiles({.name = "porter-dp that sweeps, several tiles",
                          .compressor = "random_k:0.02",
                          .gossip = 2,
                          .mask = Mask::sweep}),
      {.name = "stored gaps that are rebuilt",
       .compressor = "natural",
       .agents = 34,
       .rows_per_agent = 3,
       .features = 7,
       .rounds = 66},
  };
}

/// Every method with every compressor that it may have, on every model.
inline std::vector<Case> all_cases() {
  const std::pair<std::size_t, ModelOptions> models[] = {
      {2, {.name = "logistic", .lambda = 0.1}},
      {0, {.name = "linear"}},
      {3, {.name = "softmax"}},
      {3, {.name = "mlp", .hidden = {5}}},
  };
  std::vector<Case> cases;
  for (const auto* name : {"porter-dp", "porter-gc", "beer", "motef", "choco-sgd", "porter-sweep",
                           "sweep-led", "dsgd", "dp-dsgd", "dsgt"})
    for (const auto& compressor : offered_compressors()) {
      const auto& info = find_algorithm(name);
      if (!info.compresses && compressor != "identity") continue;
      if (info.mask_is_sweep && !compressor.starts_with("random_k")) continue;
      for (const auto& [classes, model] : models)
        cases.push_back({.name = concat(name, ", ", compressor, ", ", model.name),
                         .algorithm = name,
                         .compressor = compressor,
                         .classes = classes,
                         .batch = model.name == "softmax" ? 3U : 1U,
                         .model = model,
                         .momentum = info.momentum});
    }
  return cases;
}

/// Those whose methods have the precision.
inline bool is_offered(const Case& c, Precision precision) {
  return precision == Precision::wide ||
         (find_algorithm(c.algorithm).may_be_narrow && c.momentum == 1);
}

}  // namespace porter
