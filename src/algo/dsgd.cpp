// SPDX-License-Identifier: Apache-2.0
// Decentralised SGD (Lian et al.: Can Decentralized Algorithms Outperform Centralized Algorithms?,
// 2017), row form:
//
//   X <- W^T X - eta G        with dense messages; with clipping and noise it is DP-DSGD
//
// The messages are floats. Sending the difference to what the neighbours already hold (identity
// compressor with error feedback) makes the surrogates follow X far more closely than one rounding
// to float would.
#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class Dsgd final : public Algorithm {
 public:
  explicit Dsgd(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_x, setup.start}}),
        X_(team_.rows(setup.start)),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.begin(team_.hosted, X_, round);
    gossip_.step(
        clock_.first(round),
        [&](std::size_t agent, const auto& publish) {
          publish({X_.row(agent)});
          gradients_.prepare(agent, X_.row(agent), round, G_.row(agent));
        },
        [&](const Tile& tile, const auto& gap) {
          const auto x = tile.of(X_.row(tile.agent)), g = tile.of(G_.row(tile.agent));
          gradients_.release(tile, round, g);
          axpy(1.0, gap(0), x);  // X <- X + (W - I)^T X
          axpy(-eta_, g, x);     //       - eta G
        });
    clock_.further(round, [&](std::uint32_t step) {
      gossip_.step(
          step, [&](std::size_t agent, const auto& publish) { publish({X_.row(agent)}); },
          [&](const Tile& tile, const auto& gap) {
            axpy(1.0, gap(0), tile.of(X_.row(tile.agent)));  // X <- W^T X
          });
    });
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override { return state_of({{"X", &X_}}, gossip_, gradients_); }

 private:
  Team team_;
  double eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_dsgd(const AlgorithmSetup& setup) {
  return std::make_unique<Dsgd>(setup);
}

}  // namespace porter
