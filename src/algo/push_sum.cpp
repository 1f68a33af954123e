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
        w_(X_.agents(), 1) {
    gossip_.link().expect_beside(sizeof(double));
  }

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.estimate(team_.hosted, Z_, round, G_);
    team_.for_each([&](std::size_t agent) {
      axpy(-eta_, G_.row(agent), X_.row(agent));  // X <- X - eta G(Z)
    });
    clock_.all(round, [&](std::uint32_t step) { push(step); });
    team_.for_each([&](std::size_t agent) {  // Z = X / w
      const double w = w_.row(agent)[0];
      const auto x = X_.row(agent), z = Z_.row(agent);
      for (std::size_t j = 0; j < z.size(); ++j) z[j] = x[j] / w;
    });
  }

  const Rows& iterates() const override { return Z_; }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"Z", &Z_}, {"w", &w_}}, gossip_, gradients_);
  }

 private:
  // X <- W_t^T X and w <- W_t^T w.
  void push(std::uint32_t step) {
    gossip_.step(
        step, [&](std::size_t agent, const auto& publish) { publish({X_.row(agent)}); },
        [&](const Tile& tile, const auto& gap) { axpy(1.0, gap(0), tile.of(X_.row(tile.agent))); });
    weigh(step);
  }

  // Every process knows the w of all agents, as W_t is public, and finds it again where it goes on.
  void weigh(std::uint32_t step) {
    using Weights = std::vector<MixingWeight>;
    const auto now = [&](std::size_t i) -> const Weights& { return gossip_.link().incoming(i); };
    if (step != weighed_ + 1 || step == 1) {
      for (std::size_t i = 0; i < w_.agents(); ++i) w_.row(i)[0] = 1;
      for (std::uint32_t s = 1; s < step; ++s)
        if (team_.changing)
          move_weights([then = team_.changing->weights(s)](std::size_t i) -> const Weights& {
            return then.incoming[i];
          });
        else
          move_weights(now);
    }
    move_weights(now);
    weighed_ = step;
  }
  // w <- W^T w
  template <class Incoming>
  void move_weights(const Incoming& incoming) {
    const auto sent = w_;
    for (std::size_t i = 0; i < w_.agents(); ++i)
      for (const auto& [sender, weight] : incoming(i)) w_.row(i)[0] += weight * sent.row(sender)[0];
  }

  Team team_;
  double eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, Z_, G_;
  Rows w_;
  std::uint32_t weighed_ = 0;  // the step that w_ is of
};

}  // namespace

std::unique_ptr<Algorithm> make_push_sum(const AlgorithmSetup& setup) {
  return std::make_unique<PushSum>(setup);
}

}  // namespace porter
