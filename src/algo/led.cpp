// SPDX-License-Identifier: Apache-2.0
// LED (Alghunaim: Local Exact-Diffusion for Decentralized Optimization and Learning, 2024) with one
// local step and dense messages, row form:
//
//   X <- X - eta (G - H);   N = W^T X;   H <- H + c (N - X) / eta;   X <- N
//
// With c = 1, which W has where no eigenvalue is negative, it is D2 (Tang, Lian, Yan, Zhang, Liu:
// D2: Decentralized Training over Decentralized Data, 2018) and exact diffusion (Yuan, Ying, Zhao,
// Sayed: Exact Diffusion for Distributed Optimization and Learning, 2018) in their primal-dual
// form: one vector a round, and agents whose data differ are not biased. Rows of H have the sum 0.
#include <cmath>

#include "algo/led_correction.hpp"
#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class Led final : public Algorithm {
 public:
  explicit Led(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        c_per_eta_(led_correction(setup, 1.0) / setup.eta),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_x, setup.start}}),
        X_(team_.rows(setup.start)),
        H_(X_.agents(), X_.dim()),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.estimate(team_.hosted, X_, round, G_);
    team_.for_each([&](std::size_t agent) {
      axpy(-eta_, G_.row(agent), X_.row(agent));  // X <- X - eta (G - H)
      axpy(eta_, H_.row(agent), X_.row(agent));
    });
    clock_.all(round, [&](std::uint32_t step) {
      gossip_.step(
          step, [&](std::size_t agent, const auto& publish) { publish({X_.row(agent)}); },
          [&](const Tile& tile, const auto& gap_of) {
            const auto gap = gap_of(0);  // N - X
            axpy(c_per_eta_, gap, tile.of(H_.row(tile.agent)));
            axpy(1.0, gap, tile.of(X_.row(tile.agent)));
          });
    });
  }

  const Rows& iterates() const override { return X_; }
  // What moves X is G - H: its mean is that of G but for mean H.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(H_)));
  }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"H", &H_}}, gossip_, gradients_);
  }

 private:
  Team team_;
  double eta_, c_per_eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, H_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_led(const AlgorithmSetup& setup) {
  return std::make_unique<Led>(setup);
}

}  // namespace porter
