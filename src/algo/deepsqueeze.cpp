// SPDX-License-Identifier: Apache-2.0
// DeepSqueeze (Tang et al.: DeepSqueeze: Decentralization Meets Error-Compensated Compression,
// 2019), row form:
//
//   V <- X - eta G + E;   E <- V - C(V);   X <- X - eta G + gamma (W - I)^T C(V)
//
// clang-format off
// | paper   | code      | meaning
// |---------|-----------|-------------------------------------------------------
// | x       | X_        | iterates
// | v       | V_        | what is compressed: the half step and the old error
// | delta   | E_        | what compression has left out so far
// | C_w[v]  | in link_  | the compressed model that travels
// | eta     | gamma_    | consensus step;  the paper's gamma is our eta_
// clang-format on
#include <algorithm>

#include "core/vector_math.hpp"
#include "message_link.hpp"
#include "methods.hpp"

namespace porter {
namespace {

class Deepsqueeze final : public Algorithm {
 public:
  explicit Deepsqueeze(const AlgorithmSetup& setup)
      : team_(setup),
        link_(setup, team_, Mask::own, {{Draw::compress_x, setup.start}}),
        eta_(setup.eta),
        gamma_(setup.gamma),
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(team_.rows(setup.start)),
        V_(X_.agents(), X_.dim()),
        E_(X_.agents(), X_.dim()),
        zero_(X_.dim(), 0.0) {}

  void step(std::uint32_t round) override {
    team_.start(round);
    gradients_.estimate(team_.hosted, X_, round, V_);  // G, in the place of V
    link_.start(round);
    team_.for_each([&](std::size_t agent) { send(agent); });
    link_.collect();
    team_.for_each_tile(X_.dim(), [&](const Tile& tile) {
      for (const auto& [sender, weight] : link_.incoming(tile.agent))
        add_decoded(gamma_ * weight, link_.message(0, sender), tile.first,
                    tile.of(X_.row(tile.agent)));
    });
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return link_.traffic(); }
  std::vector<NamedRows> state() override {
    return state_of({{"X", &X_}, {"E", &E_}}, link_, gradients_);
  }

 private:
  void send(std::size_t agent) {
    const auto x = X_.row(agent), v = V_.row(agent), e = E_.row(agent);
    axpy(-eta_, v, x);                                              // X <- X - eta G
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = x[j] + e[j];  // V <- X + E
    std::copy(v.begin(), v.end(), e.begin());
    add_decoded(-1.0, link_.encode<double>(agent, 0, v, zero_), e);  // E <- V - C(V)
    link_.send(agent);
  }

  Team team_;
  MessageLink link_;
  double eta_, gamma_;
  GradientEstimator gradients_;
  Rows X_, V_, E_;
  std::vector<double> zero_;
};

}  // namespace

std::unique_ptr<Algorithm> make_deepsqueeze(const AlgorithmSetup& setup) {
  return std::make_unique<Deepsqueeze>(setup);
}

}  // namespace porter
