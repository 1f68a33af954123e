// SPDX-License-Identifier: Apache-2.0
// GT-NSGDm (Yu, Jakovetic, Kar: Decentralized Nonconvex Optimization under Heavy-Tailed Noise:
// Normalization and Optimal Convergence, 2025) with dense messages, row form:
//
//   M <- (1 - beta) M + beta G;   V <- V + M - M_prev;   X <- X - eta V / |V|, agent by agent
//   V <- W^T V;   X <- W^T X
//
// An agent's step has the length eta whatever its gradient is, so that no outlier takes it away.
// The paper normalises V after it was mixed in the same round, so that X has to wait for a second
// message; here a round is one message of both vectors.
//
// clang-format off
// | paper   | code               | meaning
// |---------|--------------------|-------------------------------------------------------
// | x       | X_                 | iterates
// | y       | V_                 | trackers
// | v       | gradients_' output | low-passed gradients, M; 1 - beta is the paper's beta
// | -       | U_                 | V - M: what gossip has moved
// | alpha   | eta_               | length of a step
// clang-format on
#include <cmath>

#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class GtNsgdm final : public Algorithm {
 public:
  explicit GtNsgdm(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_v}, {Draw::compress_x, setup.start}}),
        X_(team_.rows(setup.start)),
        V_(X_.agents(), X_.dim()),
        U_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.estimate(team_.hosted, X_, round, V_);  // M, in the place of V
    team_.for_each([&](std::size_t agent) {
      axpy(1.0, U_.row(agent), V_.row(agent));  // V <- V + M - M_prev, since U = V - M_prev
      descend(V_.row(agent), X_.row(agent));
    });
    clock_.all(round, [&](std::uint32_t step) { mix(step); });
  }

  const Rows& iterates() const override { return X_; }
  // mean V - mean M = mean U.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(U_)));
  }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"U", &U_}}, gossip_, gradients_);
  }

 private:
  static constexpr std::size_t kV = 0, kX = 1;  // the channels

  // x <- x - eta v / |v|; where v is zero there is no way to go.
  void descend(std::span<const double> v, std::span<double> x) const {
    const double norm = std::sqrt(squared_norm(v));
    if (norm != 0) axpy(-eta_ / norm, v, x);
  }

  // V <- W^T V and X <- W^T X.
  void mix(std::uint32_t step) {
    gossip_.step(
        step,
        [&](std::size_t agent, const auto& publish) {
          publish({V_.row(agent), X_.row(agent)});
        },
        [&](const Tile& tile, const auto& gap) {
          const auto gap_v = gap(kV);
          axpy(1.0, gap_v, tile.of(V_.row(tile.agent)));
          axpy(1.0, gap_v, tile.of(U_.row(tile.agent)));
          axpy(1.0, gap(kX), tile.of(X_.row(tile.agent)));
        });
  }

  Team team_;
  double eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, V_, U_;
};

}  // namespace

std::unique_ptr<Algorithm> make_gt_nsgdm(const AlgorithmSetup& setup) {
  return std::make_unique<GtNsgdm>(setup);
}

}  // namespace porter
