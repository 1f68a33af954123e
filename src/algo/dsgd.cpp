// SPDX-License-Identifier: Apache-2.0
// Decentralised SGD (Lian et al.: Can Decentralized Algorithms Outperform Centralized Algorithms?,
// 2017), row form:
//
//   X <- W^T X - eta G        with dense messages; with clipping and noise it is DP-DSGD
//
// The messages are floats. Sending the difference to what the neighbours already hold (identity
// compressor with error feedback) makes the surrogates follow X far more closely than one rounding
// to float would.
#include "porter/algo/algorithm.hpp"
#include "porter/algo/gossip.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

class Dsgd final : public Algorithm {
 public:
  explicit Dsgd(const AlgorithmSetup& setup)
      : eta_(setup.eta),
        gradients_(setup.problem, setup.gradients, setup.pool),
        gossip_(setup, setup.compressor, {{Draw::compress_x, setup.start}}),
        X_(repeat_row(setup.start, setup.problem.agents)),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    gossip_.publish({&X_}, round);
    gradients_.estimate(X_, round, G_);
    gossip_.settle();
    axpy(1.0, gossip_.gap(0).values(), X_.values());  // X <- X + (W - I)^T X
    axpy(-eta_, G_.values(), X_.values());            //       - eta G
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return gossip_.traffic(); }

  std::vector<NamedRows> state() override {
    std::vector<NamedRows> state = {{"X", &X_}};
    gossip_.append_state(state);
    return state;
  }

 private:
  double eta_;
  GradientEstimator gradients_;
  Gossip gossip_;
  Rows X_, G_;
};

}  // namespace

std::unique_ptr<Algorithm> make_dsgd(const AlgorithmSetup& setup) {
  return std::make_unique<Dsgd>(setup);
}

}  // namespace porter
