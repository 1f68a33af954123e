// SPDX-License-Identifier: Apache-2.0
// PORTER (Li and Chi: Convergence and Privacy of Decentralized Nonconvex Optimization with Gradient
// Clipping and Communication Compression, 2023) and, without clipping, BEER (Zhao, Li, Li,
// Richtarik, Chi: BEER: Fast O(1/T) Rate for Decentralized Nonconvex Optimization with
// Communication Compression, 2022). BEER with momentum is MoTEF, and with recursive momentum
// MoTEF-VR (Islamov, Gao, Stich: Near Optimal Decentralized Optimization with Compression and
// Momentum Tracking, 2024): what stands for G_p is then M.
//
// clang-format off
//      Algorithm 1                                              here
//  1   input: x0, eta, gamma, tau, b, sigma_p, T                AlgorithmSetup; tau, b, sigma_p in gradients_
//  2   initialize: V = Q_v = G_p = 0, Q_x = X = x0 1^T          the constructor; Q_v, Q_x in gossip_
//  3   for t = 1, ..., T                                        step(t), called by the run
//  4     draw mini-batches Z of size b                          gradients_.prepare
//  5     option I, PORTER-DP:                                   (clip_target = sample)
//  6       G_tau = 1/b sum_Z clip_tau(grad l(X; Z))             gradients_.prepare
//  7       G_p = G_tau + E,  e_i ~ N(0, sigma_p^2 I)            gradients_.release
//  8     option II, PORTER-GC:                                  (clip_target = batch)
//  9       G = 1/b sum_Z grad l(X; Z)                           gradients_.prepare
// 10       G_p = G_tau = clip_tau(G)                            gradients_.prepare
// 11     Q_v <- Q_v + C(V - Q_v)                                publish, first channel
// 12     V <- V + gamma Q_v (W - I) + G_p - G_p of t - 1        porter_update
// 13     Q_x <- Q_x + C(X - Q_x)                                publish, second channel
// 14     X <- X + gamma Q_x (W - I) - eta V                     porter_update
// 15   end for
// 16   output: x_out uniform over all agents and rounds         the run draws it
//
// | paper     | code                  | meaning
// |-----------|-----------------------|------------------------------------------------------------
// | n, d      | X_.agents(), X_.dim() | agents, parameters; matrices are n x d (the paper's d x n)
// | X, V      | X_, V_                | iterates, gradient trackers
// | G_p       | G_, in the place of V_| clipped (and noised) gradients, from line 4 to line 12
// | -         | U_                    | V - G_p: what gossip has moved, in place of the old G_p
// | Q (W - I) | gap(kV), gap(kX)      | in row form (W - I)^T Q
//
// Lines 11 and 13 of the next round may be done with line 14, tile by tile (gossip_.cuts): V is
// then not stored unless somebody asks for it, as U and G_p, whose noise can be made again, tell it.
// clang-format on
#include <array>
#include <cmath>
#include <type_traits>

#include "core/vector_math.hpp"
#include "gossip.hpp"
#include "methods.hpp"
#include "porter/core/error.hpp"
#include "porter_update.hpp"
#include "recursive_gradients.hpp"

namespace porter {
namespace {

// `Gradients` has begin, prepare, release and append_state of GradientEstimator.
template <class Real, class Gradients = GradientEstimator>
class Porter final : public Algorithm {
 public:
  explicit Porter(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(static_cast<Real>(setup.eta)),
        gamma_(static_cast<Real>(setup.gamma)),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, team_, {{Draw::compress_v}, {Draw::compress_x, setup.start}}),
        X_(team_.rows<Real>(setup.start)),
        V_(X_.agents(), X_.dim()),
        U_(X_.agents(), X_.dim()) {
    gossip_.allow_ahead(setup);
  }

  // Lines 11 and 13 need the previous round only: they are one message, sent first, which travels
  // while the gradient is computed.
  void step(std::uint32_t t) override {
    team_.start(t);
    round_ = t;
    gradients_.begin(team_.hosted, X_, t);
    gossip_.step_ahead(
        clock_.first(t),
        [&](std::size_t i, const auto& publish) {
          publish({V_.row(i), X_.row(i)});                 // 11, 13
          gradients_.prepare(i, X_.row(i), t, G_.row(i));  // 4, 6; or 4, 9, 10
        },
        [&](const Tile& tile, const auto& gap, const auto& publish_next) {
          std::array<Real, Gossip<Real>::kMostCut> spare;  // of V, if it is not stored
          const auto u = at(tile, U_), x = at(tile, X_);
          const auto g = stores_V(tile.agent) ? at(tile, G_) : std::span(spare).first(tile.size);
          const auto soon = gossip_.fetched_with(tile);  // on its way while the noise is made
          prefetch(at(soon, U_));
          prefetch(at(soon, X_));
          gradients_.release(tile, t, g);  // 7
          const auto gap_v = gap(kV), gap_x = gap(kX);
          porter_update(tile.size, gamma_, eta_, gap_v.data(), gap_x.data(), u.data(), g.data(),
                        x.data());  // 12, 14
          publish_next({g, x});     // 11, 13 of t + 1
        });
    clock_.further(t, [&](std::uint32_t s) { gossip_only(s); });
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

  const Rows* published_trackers() const override {
    settle();
    if constexpr (std::is_same_v<Real, double>) return &gossip_.Q(kV);
    return nullptr;
  }

  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override {
    settle();
    return state_of({{"X", &X_}, {"V", &V_}, {"U", &U_}}, gossip_, gradients_);
  }

 private:
  static constexpr std::size_t kV = 0, kX = 1;  // the channels

  static std::span<Real> at(const Tile& tile, BasicRows<Real>& rows) {
    return tile.of(rows.row(tile.agent));
  }

  // A further gossip step with the same gradient: lines 11 to 14 without G_p and eta.
  void gossip_only(std::uint32_t number) {
    gossip_.step(
        number,
        [&](std::size_t i, const auto& publish) {
          publish({V_.row(i), X_.row(i)});
        },
        [&](const Tile& tile, const auto& gap) {
          const auto gap_v = gap(kV);
          axpy(gamma_, gap_v, at(tile, U_));
          axpy(gamma_, gap_v, at(tile, V_));
          axpy(gamma_, gap(kX), at(tile, X_));
        });
  }

  bool stores_V(std::size_t agent) const {
    return !gossip_.cuts() || !gradients_.releases_again(agent);
  }
  // Between two steps: V and Q are what they are at the end of the last one.
  void settle() const {
    if (!gossip_.take_back()) return;
    team_.for_each_tile(X_.dim(), [&](const Tile& tile) {
      if (stores_V(tile.agent)) return;
      const auto v = at(tile, V_), u = at(tile, U_);
      gradients_.release(tile, round_, v);
      for (std::size_t j = 0; j < v.size(); ++j) v[j] = u[j] + v[j];
    });
  }

  Team team_;
  std::uint32_t round_ = 0;  // the last
  Real eta_, gamma_;
  GossipClock clock_;
  mutable Gradients gradients_;
  mutable Gossip<Real> gossip_;
  BasicRows<Real> X_;
  mutable BasicRows<Real> V_, U_;  // V: see settle
  BasicRows<Real>& G_ = V_;        // once V is published, its place is G's until line 12
  mutable Rows wide_X_;            // X as it is handed out, where it is float
};

}  // namespace

std::unique_ptr<Algorithm> make_porter(const AlgorithmSetup& setup) {
  require(setup.precision == Precision::wide || setup.gradients.momentum == 1, ErrorKind::usage,
          "momentum needs a state in double");
  if (setup.precision == Precision::narrow) return std::make_unique<Porter<float>>(setup);
  return std::make_unique<Porter<double>>(setup);
}

std::unique_ptr<Algorithm> make_motef_vr(const AlgorithmSetup& setup) {
  return std::make_unique<Porter<double, RecursiveGradients>>(setup);
}

}  // namespace porter
