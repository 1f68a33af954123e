// SPDX-License-Identifier: Apache-2.0
// Compressed stochastic gradient push, private, after the abstract of DP-CSGP (Zhu, Zhao, Huang,
// Zhou, Ji, Xu: DP-CSGP: Differentially Private Stochastic Gradient Push with Compressed
// Communication, 2025), row form:
//
//   X <- X - eta G(Z);   Q <- Q + C(X - Q);   X <- X + gamma (W - I)^T Q
//   w <- w + gamma (W - I)^T w;   Z = X / w, agent by agent
//
// push-sum with the messages and the consensus step of CHOCO-SGD. The paper's pseudo-code was not
// at hand: the abstract says gradient push, compressed messages, directed graphs, noise at every
// agent; the lines above follow from that. With gamma < 1 an agent moves by W_gamma = (1 - gamma) I
// + gamma W, and so w has to, exactly as X does where C is the identity; then, with gamma = 1, this
// is push-sum.
//
// Senders share what they have, so the rows of W have the sum 1. Those of W - I have 0, so whatever
// C and Q are, gossip does not move the sum of X. It rests where Q = X and (W - I)^T X = 0, as w
// does; W has one such direction, so X / w is the same everywhere, and the mean of X.
//
// clang-format off
// | paper | code | meaning
// |-------|------|-------------------------------------------------------------------
// | x     | X_   | what is pushed
// | w     | w_   | the weights of all agents, n x 1; its bytes beside the message are counted
// | z     | Z_   | iterates: where gradients are taken
// | Q     | inside `gossip_` | what the receivers know of X
// clang-format on
#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"
#include "porter/core/error.hpp"
#include "push_weights.hpp"

namespace porter {
namespace {

// One message that is missed, or weights that are others, are wrong for ever.
const AlgorithmSetup& with_copies(const AlgorithmSetup& setup) {
  const auto& changing = setup.neighbours().changing;
  require(!changing || stays(*changing), ErrorKind::usage,
          "network.schedule, network.dropout: dp-csgp needs a network that stays, undirected or "
          "directed, as receivers keep copies of what senders have sent");
  require(!changing || changing->options().weighing == Weighing::senders, ErrorKind::usage,
          "dp-csgp needs weights that senders make, so that nothing is lost");
  return setup;
}

class DpCsgp final : public Algorithm {
 public:
  explicit DpCsgp(const AlgorithmSetup& setup)
      : team_(with_copies(setup)),
        eta_(setup.eta),
        gamma_(setup.gamma),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_,
                {{.draw = Draw::compress_x, .start = setup.start, .kept_on_arcs = true}}),
        X_(team_.rows(setup.start)),
        Z_(X_),
        G_(X_.agents(), X_.dim()),
        w_(team_, gossip_.link(), gamma_) {
    gossip_.link().expect_beside(sizeof(double));
  }

  void step(std::uint32_t round) override {
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
  void push(std::uint32_t step) {
    gossip_.step(
        step,
        [&](std::size_t agent, const auto& publish) {
          publish({X_.row(agent)});  // Q <- Q + C(X - Q)
        },
        [&](const Tile& tile, const auto& gap) {
          axpy(gamma_, gap(0), tile.of(X_.row(tile.agent)));  // X <- X + gamma (W - I)^T Q
        });
    w_.move(step);  // w <- w + gamma (W - I)^T w
  }

  Team team_;
  double eta_, gamma_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, Z_, G_;
  PushWeights w_;
};

}  // namespace

std::unique_ptr<Algorithm> make_dp_csgp(const AlgorithmSetup& setup) {
  return std::make_unique<DpCsgp>(setup);
}

}  // namespace porter
