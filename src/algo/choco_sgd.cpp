// SPDX-License-Identifier: Apache-2.0
// CHOCO-SGD (Koloskova, Stich, Jaggi: Decentralized Stochastic Optimization and Gossip Algorithms
// with Compressed Communication, 2019), row form:
//
//   X <- X - eta G;   Q <- Q + C(X - Q);   X <- X + gamma (W - I)^T Q
//
// SPARQ-SGD (Singh, Data, George, Diggavi: SPARQ-SGD: Event-Triggered and Compressed Communication
// in Decentralized Stochastic Optimization, 2019), with a trigger c that does not grow and is asked
// in every round: an agent's Q moves where |X - Q|^2 > c eta^2, and else it sends nothing.
#include <optional>

#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class ChocoSgd final : public Algorithm {
 public:
  /// An agent is silent while |X - Q|^2 <= silence, if that is given.
  explicit ChocoSgd(const AlgorithmSetup& setup, std::optional<double> silence = std::nullopt)
      : team_(setup),
        silence_(silence),
        eta_(setup.eta),
        gamma_(setup.gamma),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_x, setup.start, silence.has_value()}}),
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
            if (has_news(agent))
              publish({X_.row(agent)});  // Q <- Q + C(X - Q)
            else
              publish({});
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
  bool has_news(std::size_t agent) const {
    // Who has diverged is not silent, so that it is found.
    return !silence_ || !(squared_distance(X_.row(agent), gossip_.Q(0, agent)) <= *silence_);
  }

  Team team_;
  std::optional<double> silence_;
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

std::unique_ptr<Algorithm> make_sparq_sgd(const AlgorithmSetup& setup) {
  return std::make_unique<ChocoSgd>(setup, setup.trigger * setup.eta * setup.eta);
}

}  // namespace porter
