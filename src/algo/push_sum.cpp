// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient push (Nedic, Olshevsky: Stochastic Gradient-Push for Strongly Convex
// Functions on Time-Varying Directed Graphs, 2016; Assran, Loizou, Ballas, Rabbat: Stochastic
// Gradient Push for Distributed Deep Learning, 2019) with dense messages, row form:
//
//   X <- X - eta G(Z);   X <- W_t^T X;   w <- W_t^T w;   Z = X / w, agent by agent
//
// Senders share what they have among those they reach, so the rows of W_t have the sum 1, and the
// columns need not: nothing is lost on arcs one way, but some agents hold more than others. w,
// which starts at 1 and moves as X does, is how much, and Z does not depend on it. The mean of X
// follows the mean gradient exactly. Where the columns have the sum 1, too, w stays 1, and it is
// decentralised SGD that descends before it mixes.
//
// clang-format off
// | paper | code | meaning
// |-------|------|-------------------------------------------------------------------
// | x     | X_   | what is pushed
// | w     | w_   | the weights of all agents, n x 1; its bytes beside X are counted
// | z     | Z_   | iterates: where gradients are taken
// clang-format on
#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"
#include "push_weights.hpp"

namespace porter {
namespace {

class PushSum final : public Algorithm {
 public:
  explicit PushSum(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_x, setup.start}}),
        X_(team_.rows(setup.start)),
        Z_(X_),
        G_(X_.agents(), X_.dim()),
        w_(team_, gossip_.link(), 1) {
    gossip_.link().expect_beside(sizeof(double));
  }

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.estimate(team_.hosted, Z_, round, G_);
    team_.for_each([&](std::size_t agent) {
      axpy(-eta_, G_.row(agent), X_.row(agent));  // X <- X - eta G(Z)
    });
    clock_.all(round, [&](std::uint32_t step) { push(step); });
    team_.for_each([&](std::size_t agent) {
      w_.divide(agent, X_.row(agent), Z_.row(agent));  // Z = X / w
    });
  }

  const Rows& iterates() const override { return Z_; }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"Z", &Z_}, {"w", &w_.rows()}}, gossip_, gradients_);
  }

 private:
  // X <- W_t^T X and w <- W_t^T w.
  void push(std::uint32_t step) {
    gossip_.step(
        step, [&](std::size_t agent, const auto& publish) { publish({X_.row(agent)}); },
        [&](const Tile& tile, const auto& gap) { axpy(1.0, gap(0), tile.of(X_.row(tile.agent))); });
    w_.move(step);
  }

  Team team_;
  double eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, Z_, G_;
  PushWeights w_;
};

}  // namespace

std::unique_ptr<Algorithm> make_push_sum(const AlgorithmSetup& setup) {
  return std::make_unique<PushSum>(setup);
}

}  // namespace porter
