// SPDX-License-Identifier: Apache-2.0
// LT-ADMM (Ren, Bastianello, Johansson, Parisini: Communication-Efficient Stochastic Distributed
// Learning, 2025), and with clipped and noised gradients LT-ADMM-DP (Ren, Ma, Bastianello,
// Johansson, Parisini, Malikopoulos: Communication-Efficient Distributed Learning with Differential
// Privacy, 2026): tau local steps, then one message. The paper has a pair z_ij, z_ji on every edge:
//
//   tau times:  phi_i <- phi_i - eta G_i(phi_i) - beta (rho |N_i| x_i - sum_j z_ij)
//   x_i = phi_i;   z_ij <- (z_ij - z_ji) / 2 + rho x_j
//
// where i tells each neighbour z_ij - 2 rho x_i. The differences z_ij - z_ji move by rho (x_j -
// x_i) alone, and an agent needs their sum only. So one vector to all neighbours is enough, row
// form:
//
//   tau times:  X <- X - eta G + R
//   D = (W - I)^T X;   R = gamma / tau (D + Y / 2);   Y <- Y + D
//
// which is the same, with w_ij for the penalty of an edge in units of rho, and gamma = tau beta
// rho. W is symmetric. As long as G stands still, (X, Y) is multiplied on an eigenvector of W with
// the value w by a matrix of determinant 1 - g / 2 and trace 2 - g, g = gamma (1 - w): stable for g
// < 8/3, so for every gamma up to 1. The updates follow the method as the public library
// decent-bench has it, not the papers' pseudo-code; that G is clipped sample by sample and its
// noise accounted gradient by gradient is ours.
//
// clang-format off
// | paper                            | code   | meaning
// |----------------------------------|--------|----------------------------------------------------
// | x, phi                           | X_     | iterates
// | sum_j (z_ij - z_ji) / rho        | Y_     | what the messages have found apart, its sum is 0
// | beta (sum_j z_ij - rho |N_i| x_i)| R_     | what a local step adds to the gradient's
// clang-format on
#include <cmath>

#include "algo/led_correction.hpp"
#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class LtAdmm final : public Algorithm {
 public:
  explicit LtAdmm(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        tau_(setup.local_steps),
        gamma_per_tau_(setup.gamma / tau_),
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_x, setup.start, true}}),
        X_(team_.rows(setup.start)),
        Y_(X_.agents(), X_.dim()),
        R_(X_.agents(), X_.dim()),
        G_(X_.agents(), X_.dim()) {
    require_symmetric(setup.neighbours().mixing.weights);
  }

  void step(std::uint32_t round) override {
    gradients_.estimate(team_.hosted, X_, round, G_);
    team_.for_each([&](std::size_t agent) {
      axpy(-eta_, G_.row(agent), X_.row(agent));  // X <- X - eta G + R
      axpy(1.0, R_.row(agent), X_.row(agent));
    });
    if (round % tau_ == 0)
      meet(round);
    else
      gossip_.rest(round);
  }

  const Rows& iterates() const override { return X_; }
  // What moves X is G - R / eta: its mean is that of G but for mean R.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(R_))) / eta_;
  }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"Y", &Y_}, {"R", &R_}}, gossip_, gradients_);
  }

 private:
  void meet(std::uint32_t round) {
    gossip_.step(
        round, [&](std::size_t agent, const auto& publish) { publish({X_.row(agent)}); },
        [&](const Tile& tile, const auto& gap_of) {
          const auto d = gap_of(0);
          const auto y = tile.of(Y_.row(tile.agent)), r = tile.of(R_.row(tile.agent));
          for (std::size_t j = 0; j < d.size(); ++j) {
            r[j] = gamma_per_tau_ * (d[j] + y[j] / 2);
            y[j] += d[j];
          }
        });
  }

  Team team_;
  double eta_;
  std::uint32_t tau_;
  double gamma_per_tau_;
  GradientEstimator gradients_;
  Gossip<> gossip_;
  Rows X_, Y_, R_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_lt_admm(const AlgorithmSetup& setup) {
  return std::make_unique<LtAdmm>(setup);
}

}  // namespace porter
