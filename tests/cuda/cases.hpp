// SPDX-License-Identifier: Apache-2.0
// Runs that the engine and the library must end alike: of the kernels on the host, in the tests,
// and on a device (check_device.cu).
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cuda/make_method.hpp"
#include "toy_data.hpp"

namespace porter {

using cuda::Device;
using cuda::Order;

// Most features of a row are what its first one is, as in scaled images.
inline Dataset picture_data(std::size_t rows, std::size_t features, std::size_t classes) {
  auto data = toy_data(rows, features, classes, false);
  RngStream rng(7, Draw::test, 0, 0);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t j = 0; j < features; ++j)
      if (j == 0 || rng.below(4) != 0)
        data.values[row * features + j] = row % 3 == 0 ? 0.0F : -0.25F;
  return data;
}

struct Case {
  std::string name;
  std::string algorithm = "porter-dp", compressor = "random_k:0.2";
  std::size_t agents = 5, rows_per_agent = 9, features = 23, classes = 3, batch = 1;
  ModelOptions model = {.name = "mlp", .hidden = {5}};
  Precision precision = Precision::wide;
  bool sparse = false, pictures = false;
  Sampler sampler = Sampler::fixed;
  bool broken = false;  // each agent has a record whose gradient is not finite
  std::string clip = "smooth:0.7";
  std::uint32_t gossip = 1, rounds = 6;
  Mask mask = Mask::own;
  std::vector<std::uint32_t> dense = {};  // of a sweep
  double momentum = 1;
  Order order = Order::forward;
};

// Everything that both algorithms refer to.
struct Bench {
  Dataset data;
  std::unique_ptr<const Model> model;
  Network network;
  std::unique_ptr<const Compressor> compressor;
  ThreadPool pool{1};
  std::vector<double> start;
  const AlgorithmInfo& info;
  cuda::Request request;

  explicit Bench(const Case& c)
      : data(c.pictures ? picture_data(c.agents * c.rows_per_agent, c.features, c.classes)
                        : toy_data(c.agents * c.rows_per_agent, c.features, c.classes, c.sparse)),
        model(make_model(c.model, c.features, c.classes)),
        network(make_network(c.agents)),
        compressor(make_compressor(c.compressor)),
        start(model->dim()),
        info(find_algorithm(c.algorithm)),
        request{.model = c.model,
                .scores = c.classes,
                .algorithm = c.algorithm,
                .compressor = c.compressor} {
    if (c.broken)
      for (std::size_t row = 1; row < data.rows(); row += c.rows_per_agent)
        data.values[data.sparse() ? data.row_starts[row] : row * c.features + 1] =
            std::numeric_limits<float>::infinity();
    RngStream(3, Draw::start, 0, 0).fill_normal(start);
    for (double& x : start) x *= 0.3;
  }
  static Network make_network(std::size_t agents, const std::string& kind = "erdos-renyi:0.6") {
    auto graph = make_graph(kind, agents, 4);
    auto mixing = make_mixing("metropolis", graph);
    return {std::move(graph), std::move(mixing)};
  }
  AlgorithmSetup setup(const Case& c, ThreadPool* other = nullptr) {
    const bool noised = info.noise == AlgorithmInfo::Noise::always;
    const auto clip = info.clipping == AlgorithmInfo::Clipping::none ? "none" : c.clip;
    return {.problem = {*model, data, c.agents},
            .network = &network,
            .compressor = *compressor,
            .pool = other ? *other : pool,
            .start = start,
            .eta = 0.2,
            .gamma = 0.4,
            .gossip = c.gossip,
            .rounds = 100,
            .mask = c.mask,
            .dense = c.dense,
            .precision = c.precision,
            .gradients = {.sampler = {c.sampler, c.rows_per_agent, c.batch},
                          .clip = parse_clip(clip),
                          .clip_target = info.clipping == AlgorithmInfo::Clipping::batch
                                             ? ClipTarget::batch
                                             : ClipTarget::sample,
                          .noise_stddev = noised ? 0.05 : 0.0,
                          .momentum = c.momentum,
                          .seed = 5}};
  }
};

inline std::unique_ptr<Algorithm> make_on_device(const AlgorithmSetup& setup, const Bench& bench,
                                                 Order order = Order::forward) {
  return cuda::make_on_device(setup, bench.request, std::make_unique<Device>(order));
}

/// What of their states, counts and iterates is not the same, bit for bit; empty: nothing.
inline std::string difference(Algorithm& expected, Algorithm& found) {
  // Before the state is lent: computed where it is.
  const bool same_tracking = expected.tracking_error() == found.tracking_error();
  const auto a = expected.state(), b = found.state();
  if (a.size() != b.size()) return concat(a.size(), " matrices, not ", b.size());
  std::string text;
  for (const auto& [name, matrix, copied] : a) {
    const auto other = std::ranges::find(b, name, &NamedRows::name);
    if (other == b.end() || other->copied != copied) return name + " is not there, or another";
    std::visit(
        [&, &key = name](const auto* rows) {
          const auto* theirs =
              std::get<std::remove_const_t<std::remove_pointer_t<decltype(rows)>>*>(other->rows);
          for (std::size_t i = 0; i < rows->agents(); ++i)
            if (std::memcmp(rows->row(i).data(), theirs->row(i).data(),
                            rows->row(i).size_bytes()) != 0)
              text += concat(' ', key, " of agent ", i);
        },
        matrix);
  }
  if (expected.traffic().message_bytes != found.traffic().message_bytes ||
      expected.traffic().link_bytes != found.traffic().link_bytes)
    text += " traffic";
  if (expected.iterates().flat() != found.iterates().flat()) text += " iterates";
  if (!same_tracking || expected.tracking_error() != found.tracking_error())
    text += " tracking_error";
  return text;
}

/// After some rounds of both, the engine's state given to the host and back in between.
inline std::string run_difference(const Case& c) {
  Bench bench(c);
  const auto setup = bench.setup(c);
  const auto expected = bench.info.make(setup);
  const auto found = make_on_device(setup, bench, c.order);
  for (std::uint32_t round = 1; round <= c.rounds; ++round) {
    expected->step(round);
    found->step(round);
    if (round % 3 != 0) continue;
    if (auto text = difference(*expected, *found); !text.empty())
      return concat("round ", round, ':', text);
  }
  return difference(*expected, *found);
}

/// What a checkpoint holds goes from one to the other.
inline void copy_state(Algorithm& from, Algorithm& to) {
  const auto source = from.state();
  for (auto& [name, matrix, copied] : to.state())
    for (const auto& there : source)
      if (there.name == name)
        std::visit(
            [&](auto* rows) { *rows = *std::get<std::remove_cv_t<decltype(rows)>>(there.rows); },
            matrix);
  to.traffic() = from.traffic();
}

/// The same for a run that the library begins, the engine goes on with, and the library ends.
inline std::string relay_difference(const Case& c) {
  Bench bench(c);
  const auto setup = bench.setup(c);
  const auto whole = bench.info.make(setup), begun = bench.info.make(setup),
             ended = bench.info.make(setup);
  const auto on_device = make_on_device(setup, bench, c.order);
  for (std::uint32_t round = 1; round <= 9; ++round) whole->step(round);
  for (std::uint32_t round = 1; round <= 3; ++round) begun->step(round);
  copy_state(*begun, *on_device);
  for (std::uint32_t round = 4; round <= 6; ++round) on_device->step(round);
  copy_state(*on_device, *ended);
  for (std::uint32_t round = 7; round <= 9; ++round) ended->step(round);
  return difference(*whole, *ended);
}

inline std::vector<Case> one_sample_cases() {
  const ModelOptions logistic{.name = "logistic", .lambda = 0.1};
  const ModelOptions plain{.name = "logistic"};
  const ModelOptions softmax{.name = "softmax"};
  return {
      {.name = "mlp"},
      {.name = "mlp of sparse rows", .sparse = true},
      {.name = "mlp with a regulariser", .model = {.name = "mlp", .lambda = 0.01, .hidden = {5}}},
      {.name = "three layers of tanh",
       .model = {.name = "mlp", .hidden = {6, 5}, .activation = ActivationKind::tanh}},
      {.name = "tempered sigmoids",
       .model = {.name = "mlp", .hidden = {6, 5}, .activation = tempered_sigmoid(1.58, 3, 0.71)}},
      {.name = "relu", .model = {.name = "mlp", .hidden = {9}, .activation = ActivationKind::relu}},
      {.name = "softmax", .model = softmax},
      {.name = "softmax of sparse rows", .model = softmax, .sparse = true},
      {.name = "logistic", .classes = 2, .model = logistic},
      {.name = "logistic, not regularised", .classes = 2, .model = plain},
      {.name = "logistic of sparse rows", .classes = 2, .model = logistic, .sparse = true},
      {.name = "sparse, not regularised", .classes = 2, .model = plain, .sparse = true},
      {.name = "logistic of many agents",
       .compressor = "random_k:0.1",
       .agents = 34,
       .rows_per_agent = 3,
       .features = 124,
       .classes = 2,
       .model = logistic,
       .sparse = true},
      {.name = "logistic, long enough to rebuild",
       .compressor = "random_k:0.02",
       .features = 124,
       .classes = 2,
       .model = plain,
       .rounds = 130},
      {.name = "logistic, porter-gc", .algorithm = "porter-gc", .classes = 2, .model = logistic},
      {.name = "logistic, beer", .algorithm = "beer", .classes = 2, .model = logistic},
      {.name = "logistic, shared masks", .classes = 2, .model = logistic, .mask = Mask::shared},
      {.name = "logistic, several gossip steps", .classes = 2, .model = logistic, .gossip = 2},
      {.name = "logistic of more entries than a warp has",
       .compressor = "random_k:0.9",
       .classes = 2,
       .model = logistic},
      {.name = "logistic of many parameters",
       .compressor = "random_k:0.005",
       .features = 600,
       .classes = 2,
       .model = logistic},
      {.name = "linear clipping", .clip = "linear:0.2"},
      {.name = "porter-gc", .algorithm = "porter-gc"},
      {.name = "broken records", .rows_per_agent = 2, .broken = true},
      {.name = "broken records, logistic",
       .rows_per_agent = 2,
       .classes = 2,
       .model = logistic,
       .broken = true},
      {.name = "beer", .algorithm = "beer"},
  };
}

inline std::vector<Case> batch_cases() {
  const ModelOptions logistic{.name = "logistic", .lambda = 0.1};
  return {
      {.name = "mlp", .batch = 4},
      {.name = "full batches", .batch = 9},
      {.name = "sparse rows", .batch = 4, .sparse = true},
      {.name = "pictures", .batch = 4, .pictures = true},
      {.name = "several blocks of rows",
       .agents = 3,
       .rows_per_agent = 300,
       .batch = 290,
       .pictures = true,
       .rounds = 3},
      {.name = "blocks that are dense",
       .agents = 3,
       .rows_per_agent = 150,
       .batch = 140,
       .rounds = 3},
      {.name = "more outputs than go together",
       .agents = 2,
       .rows_per_agent = 40,
       .batch = 37,
       .model = {.name = "mlp", .hidden = {70}},
       .rounds = 2},
      {.name = "more inputs than have room",
       .agents = 2,
       .features = 1700,
       .batch = 5,
       .pictures = true,
       .rounds = 2},
      {.name = "more inputs than have room, dense",
       .agents = 2,
       .features = 1700,
       .batch = 5,
       .rounds = 2},
      {.name = "layers without room",
       .agents = 2,
       .batch = 5,
       .model = {.name = "mlp", .hidden = {700, 80}},
       .rounds = 2},
      {.name = "softmax", .batch = 4, .model = {.name = "softmax"}},
      {.name = "tanh",
       .batch = 3,
       .model = {.name = "mlp", .hidden = {6, 5}, .activation = ActivationKind::tanh}},
      {.name = "tempered sigmoids",
       .batch = 3,
       .model = {.name = "mlp", .hidden = {6, 5}, .activation = tempered_sigmoid(1.58, 3, 0.71)}},
      {.name = "porter-gc", .algorithm = "porter-gc", .batch = 4},
      {.name = "broken records", .batch = 6, .broken = true},
      {.name = "broken pictures", .batch = 6, .pictures = true, .broken = true},
      {.name = "broken batches", .algorithm = "porter-gc", .batch = 6, .broken = true},
      {.name = "broken records, logistic",
       .classes = 2,
       .batch = 6,
       .model = logistic,
       .broken = true},
      {.name = "beer", .algorithm = "beer", .batch = 4},
      {.name = "logistic", .classes = 2, .batch = 4, .model = logistic},
      {.name = "sparse logistic", .classes = 2, .batch = 4, .model = logistic, .sparse = true},
      {.name = "logistic porter-gc",
       .algorithm = "porter-gc",
       .classes = 2,
       .batch = 4,
       .model = logistic},
      {.name = "logistic, not regularised",
       .classes = 2,
       .batch = 4,
       .model = {.name = "logistic"}},
  };
}

inline std::vector<Case> mixing_cases() {
  return {
      {.name = "summed gaps"},
      {.name = "stored gaps", .compressor = "random_k:0.02"},
      {.name = "stored gaps of many agents", .agents = 34, .rows_per_agent = 3},
      {.name = "more entries of a part than a warp has",
       .compressor = "random_k:0.5",
       .agents = 34,
       .rows_per_agent = 3,
       .features = 100,
       .model = {.name = "mlp", .hidden = {9}},
       .rounds = 3},
      {.name = "several tiles",
       .compressor = "random_k:0.03",
       .features = 260,
       .model = {.name = "mlp", .hidden = {17}}},
      {.name = "several tiles, summed", .features = 260, .model = {.name = "mlp", .hidden = {17}}},
      {.name = "identity", .compressor = "identity"},
      {.name = "identity of many agents",
       .compressor = "identity",
       .agents = 34,
       .rows_per_agent = 3},
      {.name = "one coordinate", .compressor = "random_k:k=1"},
      {.name = "all coordinates", .compressor = "random_k:1.0"},
      {.name = "half of many, crowded",
       .compressor = "random_k:0.5",
       .features = 260,
       .model = {.name = "mlp", .hidden = {17}},
       .rounds = 3},
      {.name = "several gossip steps", .gossip = 3},
      {.name = "shared masks", .mask = Mask::shared},
      // Float gaps are rebuilt in steps 64 and 128.
      {.name = "long enough to rebuild", .compressor = "random_k:0.02", .rounds = 130},
  };
}

}  // namespace porter
