// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "toy_data.hpp"

namespace porter {

/// A small decentralised problem with everything an algorithm refers to.
struct ToyNetwork {
  std::size_t agents = 6;
  std::string graph = "ring", mixing = "metropolis", compressor = "top_k:0.3";
  std::string schedule = "static", model = "logistic";
  double dropout = 0;
  std::optional<Pace> pace = {};
  std::string algorithm = "porter-gc", clip = "smooth:1.0";
  ClipTarget clip_target = ClipTarget::batch;
  std::size_t rows_per_agent = 10, features = 7, batch = 2, threads = 1;
  double eta = 0.1, gamma = 0.3, noise_stddev = 0, lambda = 0.1;
  bool unbiased = false;
  double momentum = 1;
  std::uint32_t gossip = 1, local_steps = 2, rounds = 0;
  double trigger = 1;
  Mask mask = Mask::own;
  Acceleration acceleration = Acceleration::none;
  Precision precision = Precision::wide;

  struct Parts {
    Dataset data;
    std::unique_ptr<const Model> model;
    Network network;
    std::unique_ptr<const Compressor> compressor;
    ThreadPool pool;
    GradientOptions gradients;
    std::unique_ptr<Algorithm> algorithm;

    /// With an exchange: the part of one process.
    explicit Parts(const ToyNetwork& toy, Exchange* exchange = nullptr)
        : data(toy_data(toy.agents * toy.rows_per_agent, toy.features, 2, false)),
          model(make_model({.name = toy.model, .lambda = toy.lambda}, toy.features, 2)),
          network(make_network(toy)),
          compressor(make_compressor(toy.compressor,
                                     toy.unbiased || find_algorithm(toy.algorithm).needs_unbiased)),
          pool(toy.threads),
          gradients{.sampler = {Sampler::fixed, toy.rows_per_agent, toy.batch},
                    .clip = parse_clip(toy.clip),
                    .clip_target = toy.clip_target,
                    .noise_stddev = toy.noise_stddev,
                    .momentum = toy.momentum,
                    .seed = 5} {
      std::vector<double> start(model->dim());
      RngStream(3, Draw::start, 0, 0).fill_normal(start);
      const auto omega = compressor->omega(start.size());
      const auto& info = find_algorithm(toy.algorithm);
      algorithm =
          info.make({.problem = {*model, data, toy.agents},
                     .network = info.gossips() ? &network : nullptr,
                     .compressor = *compressor,
                     .pool = pool,
                     .start = start,
                     .eta = toy.eta,
                     .gamma = toy.gamma,
                     .gossip = toy.gossip,
                     .local_steps = toy.local_steps,
                     .rounds = toy.rounds,
                     .gathers = info.gathers,
                     .trigger = toy.trigger,
                     .mask = toy.mask,
                     .acceleration = toy.acceleration,
                     .precision = toy.precision,
                     .gradients = gradients,
                     .exchange = exchange,
                     .soteriafl = {.shift = omega ? 1 / (1 + *omega) : 1, .snapshot = 0.2}});
    }

    static Network make_network(const ToyNetwork& toy) {
      auto graph = make_graph(toy.graph, toy.agents, 1);
      auto mixing = make_mixing(toy.mixing, graph);
      Network network{std::move(graph), std::move(mixing)};
      if (toy.schedule != "static" || toy.dropout > 0)
        network.changing.emplace(
            network.graph, network.mixing.weights,
            ChangingNetwork::Options{.meetings = parse_meetings(toy.schedule),
                                     .absences = {toy.dropout, 5},
                                     .weighing = find_algorithm(toy.algorithm).weighing,
                                     .seed = 5,
                                     .gossip = toy.gossip});
      network.pace = toy.pace;
      return network;
    }

    /// The gradients that the next round uses.
    Rows next_gradients(std::uint32_t round) {
      const Rows& X = algorithm->iterates();
      Rows G(X.agents(), X.dim());
      GradientEstimator({*model, data, X.agents()}, gradients, pool).estimate(X, round, G);
      return G;
    }

    Rows state(const std::string& name) {
      for (const auto& [key, matrix, copied] : algorithm->state())
        if (key == name) return std::visit([](auto* rows) { return widened(*rows); }, matrix);
      throw std::logic_error("no state " + name);
    }

    template <class Real>
    static Rows widened(const BasicRows<Real>& rows) {
      Rows wide(rows.agents(), rows.dim());
      for (std::size_t i = 0; i < rows.agents(); ++i)
        std::ranges::copy(rows.row(i), wide.row(i).begin());
      return wide;
    }
  };
  std::unique_ptr<Parts> build() const { return std::make_unique<Parts>(*this); }
};

}  // namespace porter
