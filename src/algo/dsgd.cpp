// SPDX-License-Identifier: Apache-2.0
// Decentralised SGD (Lian et al.: Can Decentralized Algorithms Outperform Centralized Algorithms?,
// 2017), row form:
//
//   X <- W^T X - eta G        with dense messages; with clipping and noise it is DP-DSGD
//
// The messages are floats. Sending the difference to what the neighbours already hold (identity
// compressor with error feedback) makes the surrogates follow X far more closely than one rounding
// to float would.
#include "gossip.hpp"
#include "methods.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

class Dsgd final : public Algorithm {
 public:
  explicit Dsgd(const AlgorithmSetup& setup)
      : pool_(setup.pool),
        hosted_(setup.hosted()),
        eta_(setup.eta),
        gossip_steps_(setup.gossip),
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, setup.compressor, {{Draw::compress_x, setup.start}}),
        X_(repeat_row(setup.start, setup.problem.agents, hosted_)),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    gossip_.start((round - 1) * gossip_steps_ + 1);
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      gossip_.publish(agent, {X_.row(agent)});
      gradients_.prepare(agent, X_.row(agent), round, G_.row(agent));
    });
    gossip_.collect();
    gossip_.mix(pool_, [&](const Tile& tile, const auto& gap) {
      const auto x = tile.of(X_.row(tile.agent)), g = tile.of(G_.row(tile.agent));
      gradients_.release(tile, round, g);
      axpy(1.0, gap(0), x);  // X <- X + (W - I)^T X
      axpy(-eta_, g, x);     //       - eta G
    });
    for (std::uint32_t s = 2; s <= gossip_steps_; ++s) gossip_only((round - 1) * gossip_steps_ + s);
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return gossip_.traffic(); }

  std::vector<NamedRows> state() override {
    std::vector<NamedRows> state = {{"X", &X_}};
    gossip_.append_state(state);
    gradients_.append_state(state);
    return state;
  }

 private:
  // X <- W^T X
  void gossip_only(std::uint32_t step) {
    gossip_.start(step);
    for_each_agent(pool_, hosted_,
                   [&](std::size_t agent) { gossip_.publish(agent, {X_.row(agent)}); });
    gossip_.collect();
    gossip_.mix(pool_, [&](const Tile& tile, const auto& gap) {
      axpy(1.0, gap(0), tile.of(X_.row(tile.agent)));
    });
  }

  ThreadPool& pool_;
  std::vector<std::uint32_t> hosted_;  // the agents that are computed here
  double eta_;
  std::uint32_t gossip_steps_;
  GradientEstimator gradients_;
  Gossip gossip_;
  Rows X_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_dsgd(const AlgorithmSetup& setup) {
  return std::make_unique<Dsgd>(setup);
}

}  // namespace porter
