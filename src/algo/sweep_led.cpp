// SPDX-License-Identifier: Apache-2.0
// sweep-led: local gradients, corrected by what gossip has had to repair, on the coordinates of a
// public sweep. The corrections are the control variates of ProxSkip (Mishchenko, Malinovsky,
// Stich, Richtarik: ProxSkip: Yes! Local Gradient Steps Provably Lead to Communication
// Acceleration! Finally!, 2022) and of LED (Alghunaim: Local Exact-Diffusion for Decentralized
// Optimization and Learning, 2024), and cost no vector of their own. Row form, s gossip steps per
// gradient, J the next k coordinates of the sweep, L the rounds since J was visited last
// (docs/sweep-led.md has the proof that it converges):
//
//   M <- (1 - beta) M + beta G;   X <- X - eta (M - H)
//   s times:   N = W^T X_J;   H_J <- H_J + c (N - X_J) / (eta L);   X_J <- N
//
// or, with Chebyshev acceleration, one J for all s steps, and a polynomial of W in its place.
//
// W stays doubly stochastic on every block, so the rows of H have the sum zero, and the average
// iterate follows averaged DP-SGD with momentum exactly; at rest H_i = grad f_i. What agents send
// are floats q, and each adds (W - I)^T q with its own q in it, so that rounding moves neither.
//
// clang-format off
// | symbol  | code             | meaning
// |---------|------------------|-------------------------------------------------------
// | X, H    | X_, H_           | iterates, control variates
// | M       | M_               | low-passed clipped and noised gradients
// | J, k    | inside link_     | the coordinates of a gossip step
// | L       | in mix           | rounds of drift that a gossip step meets
// | s, beta | clock_, -        | gossip steps per gradient; momentum, inside gradients_
// | c       | led_correction   | how much of a repair is held to be the drift's
// clang-format on
#include <cmath>

#include "algo/led_correction.hpp"
#include "core/vector_math.hpp"
#include "message_link.hpp"
#include "methods.hpp"
#include "swept_steps.hpp"

namespace porter {
namespace {

double correction(const AlgorithmSetup& setup, const SweptSteps& steps) {
  const auto lowest = steps.lowest();
  return lowest ? led_correction(*lowest, kSweepLedCorrection)
                : led_correction(setup, kSweepLedCorrection);
}

class SweepLed final : public Algorithm {
 public:
  explicit SweepLed(const AlgorithmSetup& setup)
      : team_(setup),
        link_(setup, team_, Mask::sweep, {{Draw::compress_x, setup.start}}),
        eta_(setup.eta),
        steps_(setup, link_),
        c_per_eta_(correction(setup, steps_) / setup.eta),
        clock_{setup.gossip},
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(team_.rows(setup.start)),
        H_(X_.agents(), X_.dim()),
        M_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.begin(team_.hosted, X_, round);
    team_.for_each(
        [&](std::size_t agent) { gradients_.prepare(agent, X_.row(agent), round, M_.row(agent)); });
    team_.for_each_tile(X_.dim(), [&](const Tile& tile) {
      const auto m = tile.of(M_.row(tile.agent)), h = tile.of(H_.row(tile.agent)),
                 x = tile.of(X_.row(tile.agent));
      gradients_.release(tile, round, m);  // M <- (1 - beta) M + beta G
      for (std::size_t j = 0; j < x.size(); ++j) x[j] -= eta_ * (m[j] - h[j]);
    });
    clock_.all(round, [&](std::uint32_t step) { mix(step); });
  }

  const Rows& iterates() const override { return X_; }

  // What moves X is M - H: its mean is that of M but for mean H.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(H_)));
  }

  Traffic& traffic() override { return link_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"H", &H_}}, link_, gradients_);
  }

 private:
  static constexpr std::size_t kX = 0;  // the channel

  // N = W^T X_J;   H_J <- H_J + c (N - X_J) / (eta L);   X_J <- N
  void mix(std::uint32_t step) {
    link_.start(step);
    team_.for_each([&](std::size_t agent) {
      const auto x = X_.row(agent);
      link_.encode_swept(agent, kX, [&](std::uint32_t j) { return x[j]; });
      link_.send(agent);
    });
    link_.collect();
    const auto L = link_.rounds_since_visit();
    team_.for_each([&](std::size_t agent) { repair(agent, c_per_eta_ / L); });
  }

  // What is dense was visited in the round before.
  void repair(std::size_t agent, double c_per_drift) {
    const auto J = link_.positions();
    const auto x = X_.row(agent), h = H_.row(agent);
    const auto moved = steps_.move(agent, kX);  // N - X_J
    for (std::size_t i = 0; i < J.size(); ++i) {
      h[J[i]] += (link_.sweep().is_dense(J[i]) ? c_per_eta_ : c_per_drift) * moved[i];
      x[J[i]] += moved[i];
    }
  }

  Team team_;
  MessageLink link_;
  double eta_;
  SweptSteps steps_;
  double c_per_eta_;
  GossipClock clock_;
  GradientEstimator gradients_;
  Rows X_, H_, M_;
};

}  // namespace

std::unique_ptr<Algorithm> make_sweep_led(const AlgorithmSetup& setup) {
  return std::make_unique<SweepLed>(setup);
}

}  // namespace porter
