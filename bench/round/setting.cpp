// SPDX-License-Identifier: Apache-2.0
#include "setting.hpp"

#include "porter/core/error.hpp"
#include "porter/data/partition.hpp"

namespace porter::bench {
namespace {

constexpr double kStartStddev = 0.2;

}  // namespace

Setting::Setting(const std::string& config_path, const std::vector<std::string>& overrides)
    : config_(load_config(config_path, overrides)),
      pool_(config_.run.threads),
      data_(load_data(config_.data)) {
  require(config_.privacy && config_.privacy->sigma, ErrorKind::usage,
          "privacy.sigma: a benchmark states its noise");
  const auto rows = partition_rows(data_.train, agents(), config_.split, config_.run.seed);
  data_.train = select_rows(data_.train, rows);
  data_.test.reset();
  model_ = make_model(config_.model, data_.train.features, data_.train.classes.size());
  auto graph = make_graph(config_.network.graph, agents(), config_.run.seed);
  auto mixing = make_mixing(config_.network.mixing, graph);
  network_ = std::make_unique<const Network>(Network{std::move(graph), std::move(mixing)});
  compressor_ = make_compressor(config_.algorithm.compressor);
}

std::size_t Setting::batch() const {
  return config_.algorithm.batch == 0 ? problem().samples_per_agent() : config_.algorithm.batch;
}

GradientOptions Setting::gradients() const {
  return {.sampler = {Sampler::fixed, problem().samples_per_agent(), batch()},
          .clip = config_.algorithm.clip,
          .noise_stddev = *config_.privacy->sigma,
          .seed = config_.run.seed};
}

AlgorithmSetup Setting::algorithm() {
  std::vector<double> start(dim());
  RngStream(config_.run.seed, Draw::start, 0, 0).fill_normal(start);
  for (double& value : start) value *= kStartStddev;
  return {.problem = problem(),
          .network = network_.get(),
          .compressor = *compressor_,
          .pool = pool(),
          .start = std::move(start),
          .eta = config_.algorithm.step,
          .gamma = config_.algorithm.consensus,
          .precision = config_.run.precision,
          .gradients = gradients()};
}

}  // namespace porter::bench
