// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/config/config.hpp"
#include "porter/train/run_privacy.hpp"

namespace porter {

/// The data of a run. Nobody changes it, so runs may share it.
struct RunData {
  std::shared_ptr<const Dataset> train;  ///< the rows of agent 0, then those of agent 1, ...
  std::shared_ptr<const Dataset> test;   ///< null where there is none
  std::string source;                    ///< what it is and where it came from
  std::string warning = {};              ///< DataPair::warning
  /// Present: the training rows are those of this agent only.
  std::optional<std::uint32_t> holder = std::nullopt;
};

using MakeAlgorithm = std::function<std::unique_ptr<Algorithm>(const AlgorithmSetup&)>;

/// What a caller brings along; what is absent is made as the config says. A run's id and the facts
/// that agents compare are those of the config, so two programs that bring different things should
/// differ in a key, for example run.seed.
struct Sources {
  std::optional<RunData> data = {};         ///< in place of [data]; `join_agents` makes one
  std::shared_ptr<const Model> model = {};  ///< in place of [model]
  std::optional<Graph> graph = {};          ///< in place of network.graph
  std::optional<Mixing> mixing = {};        ///< in place of network.mixing
  std::vector<double> start = {};           ///< in place of algorithm.start
  std::shared_ptr<const Compressor> compressor = {};  ///< in place of algorithm.compressor
  /// In place of the method that algorithm.name says, whose row still tells what the config may ask
  /// for: clipping, noise, a graph.
  MakeAlgorithm algorithm = {};
  std::shared_ptr<AccountantCache> accounts = {};  ///< that runs share
};

/// What a config turns out to be once its data are there.
struct RunFacts {
  std::string data_source;
  std::string data_warning;  ///< for the terminal of the data's owner, not for files that travel
  std::size_t agents = 0, samples_per_agent = 0, dim = 0, batch = 0;
  struct Compression {
    std::optional<std::size_t> kept;   ///< k of a sparsifier
    std::optional<double> rho, omega;  ///< as a contraction; as an unbiased operator
    double shift = 0;                  ///< soteriafl
  } compression;
  std::optional<double> majority_rate;  ///< of the test set, else of the training set
  std::vector<std::string> notes;       ///< what the user should know
  std::vector<std::uint32_t> evaluation_rounds;
  std::uint32_t output_round = 0, output_agent = 0;  ///< the paper's random x_out
};

/// Everything that a run is made of, ready to be trained.
struct RunParts {
  Config config;
  RunFacts facts;
  RunData data;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Network> network;  ///< null where agents do not talk to neighbours
  std::shared_ptr<const Compressor> compressor;
  std::shared_ptr<const RunPrivacy> privacy;
  std::vector<double> start;  ///< x0, the same at all agents
  MakeAlgorithm make;

  const AlgorithmInfo& algorithm() const { return find_algorithm(config.algorithm.name); }
  Problem problem() const { return {*model, *data.train, facts.agents, data.holder}; }
  BatchSampler sampler() const;
  /// The mixing rate.
  std::optional<double> alpha() const {
    return network ? std::optional(network->mixing.alpha) : std::nullopt;
  }
  double sigma() const { return privacy->sigma(); }  ///< of the noise on each coordinate
};

/// Loads the data, builds graph, model, compressor and noise. Error{usage} names the config key
/// that does not fit.
RunParts assemble(const Config& config, Sources sources = {});

/// The method's own view of them; `parts` and `pool` outlive what is made from it.
AlgorithmSetup algorithm_setup(const RunParts& parts, ThreadPool& pool);

/// The data of a run from what each agent holds; all hold the same number of rows.
RunData join_agents(std::span<const Dataset> agents, std::shared_ptr<const Dataset> test = nullptr);

}  // namespace porter
