// SPDX-License-Identifier: Apache-2.0
// CHOCO-SGD (Koloskova, Stich, Jaggi: Decentralized Stochastic Optimization and Gossip Algorithms
// with Compressed Communication, 2019), row form:
//
//   X <- X - eta G;   Q <- Q + C(X - Q);   X <- X + gamma (W - I)^T Q
#include "gossip.hpp"
#include "methods.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

class ChocoSgd final : public Algorithm {
 public:
  explicit ChocoSgd(const AlgorithmSetup& setup)
      : pool_(setup.pool),
        hosted_(setup.hosted()),
        eta_(setup.eta),
        gamma_(setup.gamma),
        gossip_steps_(setup.gossip),
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, setup.compressor, {{Draw::compress_x, setup.start}}),
        X_(repeat_row(setup.start, setup.problem.agents, hosted_)),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    gradients_.estimate(hosted_, X_, round, G_);
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      axpy(-eta_, G_.row(agent), X_.row(agent));  // X <- X - eta G
    });
    for (std::uint32_t s = 1; s <= gossip_steps_; ++s) {
      gossip_.start((round - 1) * gossip_steps_ + s);
      for_each_agent(pool_, hosted_, [&](std::size_t agent) {
        gossip_.publish(agent, {X_.row(agent)});  // Q <- Q + C(X - Q)
      });
      gossip_.collect();
      gossip_.mix(pool_, [&](const Tile& tile, const auto& gap) {
        const auto x = tile.of(X_.row(tile.agent));
        axpy(gamma_, gap(0), x);  // X <- X + gamma (W - I)^T Q
      });
    }
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
  ThreadPool& pool_;
  std::vector<std::uint32_t> hosted_;  // the agents that are computed here
  double eta_, gamma_;
  std::uint32_t gossip_steps_;
  GradientEstimator gradients_;
  Gossip gossip_;
  Rows X_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_choco_sgd(const AlgorithmSetup& setup) {
  return std::make_unique<ChocoSgd>(setup);
}

}  // namespace porter
