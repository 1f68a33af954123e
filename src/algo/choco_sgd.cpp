// SPDX-License-Identifier: Apache-2.0
// CHOCO-SGD (Koloskova, Stich, Jaggi: Decentralized Stochastic Optimization and Gossip Algorithms
// with Compressed Communication, 2019), row form:
//
//   X <- X - eta G;   Q <- Q + C(X - Q);   X <- X + gamma (W - I)^T Q
#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class ChocoSgd final : public Algorithm {
 public:
  explicit ChocoSgd(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        gamma_(setup.gamma),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_x, setup.start}}),
        X_(team_.rows(setup.start)),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    gradients_.estimate(team_.hosted, X_, round, G_);
    team_.for_each([&](std::size_t agent) {
      axpy(-eta_, G_.row(agent), X_.row(agent));  // X <- X - eta G
    });
    clock_.all(round, [&](std::uint32_t step) {
      gossip_.step(
          step,
          [&](std::size_t agent, const auto& publish) {
            publish({X_.row(agent)});  // Q <- Q + C(X - Q)
          },
          [&](const Tile& tile, const auto& gap) {
            axpy(gamma_, gap(0), tile.of(X_.row(tile.agent)));  // X <- X + gamma (W - I)^T Q
          });
    });
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override { return state_of({{"X", &X_}}, gossip_, gradients_); }

 private:
  Team team_;
  double eta_, gamma_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_choco_sgd(const AlgorithmSetup& setup) {
  return std::make_unique<ChocoSgd>(setup);
}

}  // namespace porter
