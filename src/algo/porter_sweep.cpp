// SPDX-License-Identifier: Apache-2.0
// porter-sweep: gradient tracking where noise is calmed before it is tracked, and all agents send
// the same public coordinates, so that mixing on them is exact and needs no surrogates. Row form,
// s gossip steps per gradient, J the next k coordinates of a public sweep through all d:
//
//   M <- (1 - beta) M + beta G;   V <- V + M - M_prev;   X <- X - eta V
//   s times:   V_J <- W^T V_J;   X_J <- W^T X_J
//
// or, with Chebyshev acceleration, one J for all s steps, and a polynomial of W in its place.
//
// W stays doubly stochastic on every block, so mean V = mean M, and the average iterate follows
// averaged DP-SGD with momentum exactly. What agents send are floats q, and each adds (W - I)^T q
// with its own q in it, so that rounding moves nobody's average.
//
// clang-format off
// | symbol  | code               | meaning
// |---------|--------------------|-------------------------------------------------------
// | X, V    | X_, V_             | iterates, trackers
// | M       | gradients_' output | low-passed clipped and noised gradients
// | U       | U_                 | V - M: what gossip has moved
// | J, k    | inside link_       | the coordinates of a gossip step
// | s, beta | clock_, -          | gossip steps per gradient; momentum, inside gradients_
// clang-format on
#include <cmath>
#include <optional>

#include "core/vector_math.hpp"
#include "message_link.hpp"
#include "methods.hpp"
#include "swept_steps.hpp"

namespace porter {
namespace {

class PorterSweep final : public Algorithm {
 public:
  explicit PorterSweep(const AlgorithmSetup& setup)
      : team_(setup),
        link_(setup, team_, Mask::sweep, {{Draw::compress_v}, {Draw::compress_x, setup.start}}),
        eta_(setup.eta),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(team_.rows(setup.start)),
        U_(X_.agents(), X_.dim()),
        M_(X_.agents(), X_.dim()) {
    if (setup.acceleration != Acceleration::none) accelerated_.emplace(setup, link_);
  }

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.begin(team_.hosted, X_, round);
    team_.for_each(
        [&](std::size_t agent) { gradients_.prepare(agent, X_.row(agent), round, M_.row(agent)); });
    team_.for_each_tile(X_.dim(), [&](const Tile& tile) {
      const auto u = tile.of(U_.row(tile.agent)), m = tile.of(M_.row(tile.agent)),
                 x = tile.of(X_.row(tile.agent));
      gradients_.release(tile, round, m);  // M <- (1 - beta) M + beta G
      for (std::size_t j = 0; j < x.size(); ++j) x[j] -= eta_ * (u[j] + m[j]);  // V = U + M
    });
    clock_.all(round, [&](std::uint32_t step) { mix(step); });
  }

  const Rows& iterates() const override { return X_; }

  // mean V - mean M = mean U.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(U_)));
  }

  Traffic& traffic() override { return link_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"U", &U_}, {"M", &M_}}, link_, gradients_);
  }

 private:
  static constexpr std::size_t kV = 0, kX = 1;  // the channels

  // V_J <- W^T V_J and X_J <- W^T X_J.
  void mix(std::uint32_t step) {
    link_.start(step);
    team_.for_each([&](std::size_t agent) {
      const auto u = U_.row(agent), m = M_.row(agent), x = X_.row(agent);
      link_.encode_swept(agent, kV, [&](std::uint32_t j) { return u[j] + m[j]; });
      link_.encode_swept(agent, kX, [&](std::uint32_t j) { return x[j]; });
      link_.send(agent);
    });
    link_.collect();
    team_.for_each([&](std::size_t agent) {
      if (accelerated_) return accelerate(agent);
      for (const auto& [sender, weight] : link_.incoming(agent)) {
        add_decoded(weight, link_.message(kV, sender), U_.row(agent));
        add_decoded(weight, link_.message(kX, sender), X_.row(agent));
      }
    });
  }

  void accelerate(std::size_t agent) {
    const auto J = link_.positions();
    const auto u = U_.row(agent), x = X_.row(agent);
    const auto moved_v = accelerated_->move(agent, kV), moved_x = accelerated_->move(agent, kX);
    for (std::size_t i = 0; i < J.size(); ++i) {
      u[J[i]] += moved_v[i];
      x[J[i]] += moved_x[i];
    }
  }

  Team team_;
  MessageLink link_;
  double eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Rows X_, U_, M_;
  std::optional<SweptSteps> accelerated_;
};

}  // namespace

std::unique_ptr<Algorithm> make_porter_sweep(const AlgorithmSetup& setup) {
  return std::make_unique<PorterSweep>(setup);
}

}  // namespace porter
