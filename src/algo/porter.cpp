// SPDX-License-Identifier: Apache-2.0
// PORTER (Algorithm 1 of Li and Chi: Convergence and Privacy of Decentralized Nonconvex
// Optimization with Gradient Clipping and Communication Compression) and, without clipping, BEER
// (Zhao, Li, Li, Richtarik, Chi: BEER: Fast O(1/T) Rate for Decentralized Nonconvex Optimization
// with Communication Compression, 2022).
//
// clang-format off
// | paper           | code                  | meaning
// |-----------------|-----------------------|------------------------------------------------------------
// | n, d            | X_.agents(), X_.dim() | agents, parameters; matrices are n x d (the paper's d x n)
// | X, V, G_p       | X_, V_, G_            | iterates, gradient trackers, clipped (and noised) gradients
// | -               | U_                    | V - G_p: what gossip has moved
// | Q_x, Q_v        | inside gossip_        | surrogates that the neighbours also hold
// | Q (W - I)       | gossip_.gap(kV, kX)   | in row form (W - I)^T Q
// | C, rho          | Compressor            | compression operator; its contraction
// | eta, gamma      | eta_, gamma_          | step size, consensus step
// | tau, sigma_p, b | inside gradients_     | clipping threshold, noise, batch
// clang-format on
#include <cmath>

#include "porter/algo/algorithm.hpp"
#include "porter/algo/gossip.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

constexpr std::size_t kV = 0, kX = 1;

class Porter final : public Algorithm {
 public:
  explicit Porter(const AlgorithmSetup& setup)
      : pool_(setup.pool),
        eta_(setup.eta),
        gamma_(setup.gamma),
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, setup.compressor, {{Draw::compress_v, {}}, {Draw::compress_x, setup.start}}),
        X_(repeat_row(setup.start, setup.problem.agents)),
        V_(X_.agents(), X_.dim()),
        U_(V_),
        G_(V_) {}

  // The numbers are the lines of Algorithm 1. Both messages depend on the previous round only, so
  // they are one message, and it can travel while the gradient is computed.
  void step(std::uint32_t round) override {
    gossip_.publish({&V_, &X_}, round);  // 11, 13: Q_v += C(V - Q_v),  Q_x += C(X - Q_x)
    gradients_.estimate(X_, round,
                        G_);  // 4-10:   G, clipped (and noised), at the X of the last round
    gossip_.settle();         //         the neighbours' parts have arrived
    pool_.parallel_for(X_.agents(), [this](std::size_t agent) { update(agent); });
  }

  const Rows& iterates() const override { return X_; }

  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_distance(mean_row(V_), mean_row(G_)));
  }

  Traffic& traffic() override { return gossip_.traffic(); }

  std::vector<NamedRows> state() override {
    std::vector<NamedRows> state = {{"X", &X_}, {"V", &V_}, {"U", &U_}, {"G", &G_}};
    gossip_.append_state(state);
    return state;
  }

 private:
  // With U = V - G the update  V += gamma gap_v + G - G_prev  needs no G_prev, and the rounding
  // error of a running sum of gradient differences is gone.
  void update(std::size_t agent) {
    const auto gap_v = gossip_.gap(kV).row(agent), gap_x = gossip_.gap(kX).row(agent);
    const auto x = X_.row(agent), v = V_.row(agent), u = U_.row(agent), g = G_.row(agent);
    for (std::size_t j = 0; j < x.size(); ++j) {
      u[j] += gamma_ * gap_v[j];                // 12: V <- V + gamma Q_v (W - I) + G - G_prev
      v[j] = u[j] + g[j];                       //
      x[j] += gamma_ * gap_x[j] - eta_ * v[j];  // 14: X <- X + gamma Q_x (W - I) - eta V
    }
  }

  ThreadPool& pool_;
  double eta_, gamma_;
  GradientEstimator gradients_;
  Gossip gossip_;
  Rows X_, V_, U_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_porter(const AlgorithmSetup& setup) {
  return std::make_unique<Porter>(setup);
}

}  // namespace porter
