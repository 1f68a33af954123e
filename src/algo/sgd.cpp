// SPDX-License-Identifier: Apache-2.0
// SGD without messages; with clipping and noise DP-SGD (Abadi et al.: Deep Learning with
// Differential Privacy, 2016):
//
//   X <- X - eta G
//
// One row is DP-SGD on pooled data; a row per agent is what each gets alone.
#include "core/vector_math.hpp"
#include "methods.hpp"
#include "team.hpp"

namespace porter {
namespace {

class Sgd final : public Algorithm {
 public:
  explicit Sgd(const AlgorithmSetup& setup)
      : team_(setup),
        eta_(setup.eta),
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(team_.rows(setup.start)),
        G_(X_.agents(), X_.dim()) {}

  void step(std::uint32_t round) override {
    gradients_.estimate(team_.hosted, X_, round, G_);
    team_.for_each_tile(X_.dim(), [&](const Tile& tile) {
      axpy(-eta_, tile.of(G_.row(tile.agent)), tile.of(X_.row(tile.agent)));
    });
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return traffic_; }
  std::vector<NamedRows> state() override { return state_of({{"X", &X_}}, gradients_); }

 private:
  Team team_;
  double eta_;
  GradientEstimator gradients_;
  Rows X_, G_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Algorithm> make_sgd(const AlgorithmSetup& setup) {
  return std::make_unique<Sgd>(setup);
}

}  // namespace porter
