// SPDX-License-Identifier: Apache-2.0
#include "shared_noise.hpp"

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMostAgents = 1000;  // for which a ratio is worked out

// Row i of W^steps.
std::vector<double> row_of_power(const MixingMatrix& W, std::size_t i, std::uint32_t steps) {
  std::vector<double> row(W.nodes(), 0.0), next;
  row[i] = 1;
  for (std::uint32_t step = 0; step < steps; ++step) {
    next.assign(W.nodes(), 0.0);
    for (std::size_t k = 0; k < W.nodes(); ++k)
      for (const auto& [node, weight] : W.row(k)) next[node] += row[k] * weight;
    std::swap(row, next);
  }
  return row;
}

// What is swept is mixed once before the next gradient, what is dense by every gossip step.
double worked_out_ratio(const Config& config, const Network& network, const NoisePairs& pairs) {
  require(pairs.agents <= kMostAgents, ErrorKind::usage, "privacy.shape: \"",
          choice_text(NoiseShape::optimal), "\" is worked out for up to ", kMostAgents,
          " agents, found ", pairs.agents, "; choose \"", choice_text(NoiseShape::pairwise),
          "\" with a privacy.pair_ratio");
  const std::uint32_t steps = config.algorithm.mask == Mask::own ? config.algorithm.gossip : 1;
  return best_pair_ratio(pairs, config.privacy->colluders, noise_after_gossip(network, steps));
}

void check_secrets(const Config& config) {
  const auto shape = choice_text(config.privacy->shape);
  const auto engine = config.run.engine;
  require(engine == EngineKind::simulate || engine == EngineKind::tls || !claims_guarantee(config),
          ErrorKind::privacy, "privacy.shape = \"", shape, "\" with secret noise needs run.engine ",
          "= \"simulate\", or agents: ranks have no secrets in common");
}

}  // namespace

// With P = W^steps gossip makes P^T S P of the covariance S over agents. The trace of P^T P is a
// sum over rows, that of P^T L P a sum over edges.
PairCost noise_after_gossip(const Network& network, std::uint32_t steps) {
  const auto agents = network.mixing.nodes();
  std::vector<std::vector<double>> P;
  for (std::size_t i = 0; i < agents; ++i)
    P.push_back(row_of_power(network.mixing.weights, i, steps));
  double own = 0, shared = 0;
  for (const auto& row : P)
    for (const double weight : row) own += weight * weight;
  for (const auto& [i, j] : network.graph.edges())
    for (std::size_t k = 0; k < agents; ++k) {
      const double difference = P[i][k] - P[j][k];
      shared += difference * difference;
    }
  return {.own = own / static_cast<double>(agents), .shared = shared / static_cast<double>(agents)};
}

std::optional<SharedNoise> shared_noise(const Config& config, const Network* network) {
  if (!shares_noise(config) || !network) return std::nullopt;
  check_secrets(config);
  const auto& privacy = *config.privacy;
  const auto pairs = std::make_shared<const NoisePairs>(
      NoisePairs{.agents = network->graph.nodes(), .pairs = network->graph.edges()});
  require(privacy.colluders < pairs->agents, ErrorKind::usage,
          "privacy.colluders: expected fewer than the ", pairs->agents, " agents, found ",
          privacy.colluders);
  const double ratio = privacy.shape == NoiseShape::pairwise
                           ? privacy.pair_ratio
                           : worked_out_ratio(config, *network, *pairs);
  if (ratio == 0) return std::nullopt;
  return SharedNoise{pairs, ratio, pair_worth(*pairs, ratio, privacy.colluders)};
}

}  // namespace porter
