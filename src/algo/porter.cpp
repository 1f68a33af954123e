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
// | X, V            | X_, V_                | iterates, gradient trackers
// | G_p             | in V_ until line 12   | clipped (and noised) gradients
// | -               | U_                    | V - G_p: what gossip has moved
// | Q_x, Q_v        | inside gossip_        | surrogates that the neighbours also hold
// | Q (W - I)       | gap(kV), gap(kX)      | in row form (W - I)^T Q
// | C, rho          | Compressor            | compression operator; its contraction
// | eta, gamma      | eta_, gamma_          | step size, consensus step
// | tau, sigma_p, b | inside gradients_     | clipping threshold, noise, batch
// clang-format on
#include <cmath>
#include <type_traits>

#include "gossip.hpp"
#include "methods.hpp"
#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"
#include "porter/core/vectors.hpp"

namespace porter {
namespace {

constexpr std::size_t kV = 0, kX = 1;

// One pass over a tile, with g = G and v = V of the next round in one place:
//   U <- U + gamma gap_v;   V <- U + G;   X <- X + gamma gap_x - eta V
// NaN and infinities go their way, and the next message is refused.
template <class Real>
[[gnu::always_inline]] inline void move_tile(std::size_t size, Real gamma, Real eta,
                                             const Real* __restrict gap_v,
                                             const Real* __restrict gap_x, Real* __restrict u,
                                             Real* __restrict v, Real* __restrict x) {
  for (std::size_t j = 0; j < size; ++j) {
    u[j] += gamma * gap_v[j];
    v[j] = u[j] + v[j];
    x[j] += gamma * gap_x[j] - eta * v[j];
  }
}

void move(std::size_t size, double gamma, double eta, const double* gap_v, const double* gap_x,
          double* u, double* v, double* x) {
  with_vectors([=]<std::size_t>()
                   PORTER_INLINE { move_tile(size, gamma, eta, gap_v, gap_x, u, v, x); });
}

void move(std::size_t size, float gamma, float eta, const float* gap_v, const float* gap_x,
          float* u, float* v, float* x) {
  with_vectors([=]<std::size_t>()
                   PORTER_INLINE { move_tile(size, gamma, eta, gap_v, gap_x, u, v, x); });
}

template <class Real>
class Porter final : public Algorithm {
 public:
  explicit Porter(const AlgorithmSetup& setup)
      : pool_(setup.pool),
        hosted_(setup.hosted()),
        eta_(static_cast<Real>(setup.eta)),
        gamma_(static_cast<Real>(setup.gamma)),
        gossip_steps_(setup.gossip),
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, setup.compressor, {{Draw::compress_v, {}}, {Draw::compress_x, setup.start}}),
        X_(repeat_row<Real>(setup.start, setup.problem.agents, hosted_)),
        V_(X_.agents(), X_.dim()),
        U_(X_.agents(), X_.dim()) {}

  // The numbers are the lines of Algorithm 1. Both messages depend on the previous round only, so
  // they are one message, and it can travel while the gradient is computed. Once V is published it
  // is needed no more, and its place takes the gradient.
  void step(std::uint32_t round) override {
    gossip_.start((round - 1) * gossip_steps_ + 1);
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      const auto x = X_.row(agent), v = V_.row(agent);
      gossip_.publish(agent, {v, x});          // 11, 13: Q_v += C(V - Q_v),  Q_x += C(X - Q_x)
      gradients_.prepare(agent, x, round, v);  // 4-8:    the (clipped) mini-batch gradient at X
    });
    gossip_.collect();
    gossip_.mix(pool_, [&](const Tile& tile, const auto& gap) { update(tile, round, gap); });
    for (std::uint32_t s = 2; s <= gossip_steps_; ++s) gossip_only((round - 1) * gossip_steps_ + s);
  }

  const Rows& iterates() const override {
    if constexpr (std::is_same_v<Real, double>) {
      return X_;
    } else {
      if (wide_X_.agents() == 0) wide_X_ = Rows(X_.agents(), X_.dim());
      for (std::size_t i = 0; i < X_.agents(); ++i) widen(X_.row(i), wide_X_.row(i));
      return wide_X_;
    }
  }

  // mean V - mean G = mean U.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(U_)));
  }

  Traffic& traffic() override { return gossip_.traffic(); }

  std::vector<NamedRows> state() override {
    std::vector<NamedRows> state = {{"X", &X_}, {"V", &V_}, {"U", &U_}};
    gossip_.append_state(state);
    gradients_.append_state(state);
    return state;
  }

 private:
  // With U = V - G the update  V += gamma gap_v + G - G_prev  needs no G_prev, and the rounding
  // error of a running sum of gradient differences is gone.
  template <class Gap>
  void update(const Tile& tile, std::uint32_t round, const Gap& gap) {
    const auto u = tile.of(U_.row(tile.agent)), v = tile.of(V_.row(tile.agent)),
               x = tile.of(X_.row(tile.agent));
    prefetch(u);  // on its way while the noise is made
    prefetch(x);
    gradients_.release(tile, round, v);  // 9-10: G, the noise added
    const auto gap_v = gap(kV), gap_x = gap(kX);
    // 12: V <- V + gamma Q_v (W - I) + G - G_prev
    // 14: X <- X + gamma Q_x (W - I) - eta V
    move(tile.size, gamma_, eta_, gap_v.data(), gap_x.data(), u.data(), v.data(), x.data());
  }

  // A further gossip step with the same gradient:  V += gamma Q_v (W - I),  X += gamma Q_x (W - I)
  void gossip_only(std::uint32_t step) {
    gossip_.start(step);
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      gossip_.publish(agent, {V_.row(agent), X_.row(agent)});
    });
    gossip_.collect();
    gossip_.mix(pool_, [&](const Tile& tile, const auto& gap) {
      const auto gap_v = gap(kV);
      axpy(gamma_, gap_v, tile.of(U_.row(tile.agent)));
      axpy(gamma_, gap_v, tile.of(V_.row(tile.agent)));
      axpy(gamma_, gap(kX), tile.of(X_.row(tile.agent)));
    });
  }

  ThreadPool& pool_;
  std::vector<std::uint32_t> hosted_;  // the agents that are computed here
  Real eta_, gamma_;
  std::uint32_t gossip_steps_;
  GradientEstimator gradients_;
  BasicGossip<Real> gossip_;
  BasicRows<Real> X_, V_, U_;
  mutable Rows wide_X_;  // X as it is handed out, where it is float
};

}  // namespace

std::unique_ptr<Algorithm> make_porter(const AlgorithmSetup& setup) {
  require(setup.precision == Precision::wide || setup.gradients.momentum == 1, ErrorKind::usage,
          "momentum needs a state in double");
  if (setup.precision == Precision::narrow) return std::make_unique<Porter<float>>(setup);
  return std::make_unique<Porter<double>>(setup);
}

}  // namespace porter
