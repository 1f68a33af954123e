// SPDX-License-Identifier: Apache-2.0
#include "shared_noise.hpp"

#include "porter/core/error.hpp"

namespace porter {
namespace {

// |W_i - W_j|^2 of two rows, ascending by node.
double squared_difference(std::span<const MixingWeight> a, std::span<const MixingWeight> b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool left = j == b.size() || (i < a.size() && a[i].node <= b[j].node);
    const bool right = i == a.size() || (j < b.size() && b[j].node <= a[i].node);
    const double difference = (left ? a[i].weight : 0) - (right ? b[j].weight : 0);
    sum += difference * difference;
    i += left, j += right;
  }
  return sum;
}

void check_secrets(const Config& config) {
  const auto shape = choice_text(config.privacy->shape);
  require(config.run.engine != EngineKind::tls, ErrorKind::privacy, "privacy.shape = \"", shape,
          "\" is not offered by agents yet: they have no secrets in common; expected \"",
          choice_text(NoiseShape::independent), "\"");
  require(config.run.engine == EngineKind::simulate || !claims_guarantee(config),
          ErrorKind::privacy, "privacy.shape = \"", shape, "\" with secret noise needs run.engine ",
          "= \"simulate\": ranks have no secrets in common");
}

}  // namespace

// Gossip makes W^T S W of the covariance S over agents, and the trace of W^T L W is a sum over
// edges.
PairCost noise_after_gossip(const Network& network) {
  const auto& W = network.mixing.weights;
  const auto agents = static_cast<double>(W.nodes());
  double own = 0, shared = 0;
  for (std::size_t i = 0; i < W.nodes(); ++i)
    for (const auto& [node, weight] : W.row(i)) own += weight * weight;
  for (const auto& [i, j] : network.graph.edges()) shared += squared_difference(W.row(i), W.row(j));
  return {.own = own / agents, .shared = shared / agents};
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
  const double ratio =
      privacy.shape == NoiseShape::pairwise
          ? privacy.pair_ratio
          : best_pair_ratio(*pairs, privacy.colluders, noise_after_gossip(*network));
  if (ratio == 0) return std::nullopt;
  return SharedNoise{pairs, ratio, pair_worth(*pairs, ratio, privacy.colluders)};
}

}  // namespace porter
