// SPDX-License-Identifier: Apache-2.0
// How good algorithm.consensus = "auto" is: agents that start apart and only gossip,
//   Q += C(X - Q),  X += gamma (W - I)' Q,
// for many gamma, until the squared disagreement is a tenth. Prints the table of docs/steps.md:
//   consensus_check [own|shared]      whose masks; about ten minutes on one core
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "porter/porter.hpp"
#include "train/auto_steps.hpp"

namespace {

using namespace porter;

constexpr std::size_t kDim = 200;
constexpr double kTarget = 0.1, kLost = 1e3;

double disagreement(const Rows& X) {
  const auto mean = [&](std::size_t k) {
    double sum = 0;
    for (std::size_t i = 0; i < X.agents(); ++i) sum += X.row(i)[k];
    return sum / static_cast<double>(X.agents());
  };
  double squares = 0;
  for (std::size_t k = 0; k < kDim; ++k) {
    const double middle = mean(k);
    for (std::size_t i = 0; i < X.agents(); ++i) squares += std::pow(X.row(i)[k] - middle, 2);
  }
  return squares;
}

struct Gossip {
  const Mixing& mixing;
  const Compressor& compressor;
  bool shared = false;  ///< all agents send the same coordinates

  /// Rounds until the target; 0: lost, nothing: not within `most`.
  std::optional<std::size_t> rounds(double gamma, std::size_t most) const {
    const auto n = mixing.nodes();
    Rows X(n, kDim), Q(n, kDim);
    for (std::uint32_t i = 0; i < n; ++i) RngStream(3, Draw::test, i, 0).fill_normal(X.row(i));
    const double start = disagreement(X);
    for (std::uint32_t round = 1; round <= most; ++round) {
      step(gamma, round, X, Q);
      if (round > 50 && round % 8 != 0) continue;
      const double now = disagreement(X);
      if (!(now < kLost * start)) return 0;
      if (now < kTarget * start) return round;
    }
    return std::nullopt;
  }

  void step(double gamma, std::uint32_t round, Rows& X, Rows& Q) const {
    Payload payload;
    Decoded message;
    for (std::uint32_t i = 0; i < X.agents(); ++i) {
      const RngStream rng(1, Draw::compress_x, shared ? 0 : i, round);
      compressor.encode_difference(X.row(i), Q.row(i), rng, payload, message);
      for (std::size_t k = 0; k < message.values.size(); ++k)
        Q.row(i)[message.dense ? k : message.indices[k]] += double{message.values[k]};
    }
    for (std::size_t i = 0; i < X.agents(); ++i)
      for (const auto& [node, weight] : mixing.weights.row(i))
        for (std::size_t k = 0; k < kDim && node != i; ++k)
          X.row(i)[k] += gamma * weight * (Q.row(node)[k] - Q.row(i)[k]);
  }
};

struct Outcome {
  double gamma, best = 0, works = 0;       // auto; of the fewest rounds; the largest that works
  std::optional<std::size_t> rounds = {};  // with auto
  std::size_t fewest = 0;
};

// gamma from 1 downwards by factors of sqrt(2), until it is too small to be the best. One that
// takes three times as long as auto does not work.
Outcome search(const Gossip& gossip) {
  const double share = kept_share(gossip.compressor, kDim);
  const auto most = static_cast<std::size_t>(400 / share) + 2000;
  Outcome out{.gamma = share / 2};
  out.rounds = gossip.rounds(out.gamma, most);
  out.fewest = out.rounds.value_or(0) > 0 ? *out.rounds : most;
  out.best = out.gamma;
  const auto limit = 3 * out.fewest;
  for (double gamma = 1; gamma > share / 8; gamma /= std::sqrt(2.0)) {
    const auto rounds = gossip.rounds(gamma, limit).value_or(0);
    if (rounds == 0) continue;
    out.works = std::max(out.works, gamma);
    if (rounds >= out.fewest) continue;
    out.fewest = rounds;
    out.best = gamma;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool shared = argc > 1 && std::string(argv[1]) == "shared";
  std::printf(
      "| graph | n | alpha | compressor | kept | auto | rounds | best | rounds | works to |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
  for (const char* graph : {"ring", "torus", "erdos-renyi:0.3", "complete"})
    for (const std::size_t n : {10U, 36U, 100U}) {
      if (std::string(graph) == "torus" && n == 10) continue;
      const auto mixing = make_mixing("fdla", make_graph(graph, n, 1));
      for (const char* spec :
           {"random_k:0.01", "random_k:0.05", "random_k:0.2", "identity", "top_k:0.01",
            "top_k:0.05", "top_k:0.2", "qsgd:8", "gsgd:2", "natural", "sign"}) {
        if (shared && !std::string(spec).starts_with("random_k")) continue;
        const auto compressor = make_compressor(spec);
        const auto out = search({mixing, *compressor, shared});
        std::printf("| %s | %zu | %.3f | %s | %.3f | %.4f | %s | %.4f | %zu | %.4f |\n", graph, n,
                    mixing.alpha, spec, 2 * out.gamma, out.gamma,
                    !out.rounds        ? "none"
                    : *out.rounds == 0 ? "LOST"
                                       : std::to_string(*out.rounds).c_str(),
                    out.best, out.fewest, out.works);
        std::fflush(stdout);
      }
    }
}
