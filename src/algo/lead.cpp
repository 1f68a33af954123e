// SPDX-License-Identifier: Apache-2.0
// LEAD (Liu, Li, Wang, Tang, Yan: Linear Convergent Decentralized Optimization with Compression,
// 2021) with an unbiased compressor C, row form:
//
//   Y = X - eta (G + D);   q = C(Y - H);   Z = H + q;   H <- (1 - alpha) H + alpha Z
//   D <- D + gamma / (2 eta) (I - W)^T Z;   X <- X - eta (G + D)
//
// D learns what agents' gradients have apart, so that those whose data differ are not biased. What
// agents know of each other is H, which takes a part of each message only, since one that is scaled
// to be unbiased is longer than what it tells: alpha = 1 / (1 + omega). The theory bounds gamma by
// omega and by the curvature, which nobody knows: here it is consensus / (1 + omega)^3. Without
// curvature the square diverges in mean square from omega = 4 on, and the cube is stable up to 39,
// as far as was tried (experiments/stability.py).
//
// clang-format off
// | paper          | code           | meaning
// |----------------|----------------|------------------------------------------------------
// | X, Y           | X_             | iterates; Y between sending and the update
// | D              | D_             | corrections of the gradients, their sum is 0
// | H, H - H_w     | H_, -B_        | what the messages have told, and (W - I)^T of it
// | Y^hat          | -              | Z
// clang-format on
#include <array>
#include <cmath>

#include "core/vector_math.hpp"
#include "message_link.hpp"
#include "methods.hpp"

namespace porter {
namespace {

double require_omega(const AlgorithmSetup& setup) {
  const auto omega = setup.compressor.omega(setup.start.size());
  require(omega.has_value(), ErrorKind::usage,
          "algorithm.compressor: lead needs an unbiased one, such as random_k with "
          "algorithm.unbiased = true");
  require(
      setup.mask != Mask::sweep, ErrorKind::usage,
      "algorithm.mask: a sweep is not unbiased, as lead needs its messages; own and shared are");
  return *omega;
}

class Lead final : public Algorithm {
 public:
  explicit Lead(const AlgorithmSetup& setup)
      : team_(setup),
        link_(setup, team_, setup.mask, {{Draw::compress_x, setup.start}}),
        eta_(setup.eta),
        alpha_(1 / (1 + require_omega(setup))),
        half_gamma_(setup.gamma * alpha_ * alpha_ * alpha_ / 2),
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(team_.rows(setup.start)),
        H_(X_),
        D_(X_.agents(), X_.dim()),
        B_(X_.agents(), X_.dim()),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    gradients_.estimate(team_.hosted, X_, round, G_);
    link_.start(round);
    team_.for_each([&](std::size_t agent) { send(agent); });
    link_.collect();
    team_.for_each_tile(X_.dim(), [&](const Tile& tile) { update(tile); });
  }

  const Rows& iterates() const override { return X_; }
  // What moves X is G + D: its mean is that of G but for mean D.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(D_)));
  }
  Traffic& traffic() override { return link_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"H", &H_}, {"D", &D_}, {"B", &B_}}, link_, gradients_);
  }

 private:
  void send(std::size_t agent) {
    const auto x = X_.row(agent), h = H_.row(agent);
    axpy(-eta_, G_.row(agent), x);  // Y = X - eta (G + D)
    axpy(-eta_, D_.row(agent), x);
    add_decoded(alpha_, link_.encode<double>(agent, 0, x, h), h);  // H <- H + alpha q
    link_.send(agent);
  }

  // D and X by (W - I)^T Z, which is that of H and that of q.
  void update(const Tile& tile) {
    std::array<double, kTileSize> sums{};
    const auto p = std::span(sums).first(tile.size);  // (W - I)^T q
    for (const auto& [sender, weight] : link_.incoming(tile.agent))
      add_decoded(weight, link_.message(0, sender), tile.first, p);
    const auto x = tile.of(X_.row(tile.agent)), d = tile.of(D_.row(tile.agent)),
               b = tile.of(B_.row(tile.agent));
    for (std::size_t j = 0; j < p.size(); ++j) {
      const double moved = half_gamma_ * (b[j] + p[j]);
      d[j] -= moved / eta_;
      x[j] += moved;
      b[j] += alpha_ * p[j];
    }
  }

  Team team_;
  MessageLink link_;
  double eta_, alpha_, half_gamma_;
  GradientEstimator gradients_;
  Rows X_, H_, D_, B_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_lead(const AlgorithmSetup& setup) {
  return std::make_unique<Lead>(setup);
}

}  // namespace porter
