// SPDX-License-Identifier: Apache-2.0
// A method of your own, here decentralised gradient descent with exact mixing: it gets metrics,
// checkpoints and everything else of a run from the trainer.
#include <cstdio>

#include "porter/porter.hpp"

using namespace porter;

// X <- (X - eta G) W
class MixedDescent final : public Algorithm {
 public:
  explicit MixedDescent(const AlgorithmSetup& setup)
      : W_(setup.neighbours().mixing),
        eta_(setup.eta),
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(setup.problem.agents, setup.start.size()),
        G_(X_),
        mixed_(X_) {
    for (std::size_t i = 0; i < X_.agents(); ++i) std::ranges::copy(setup.start, X_.row(i).begin());
  }

  void step(std::uint32_t round) override {
    gradients_.estimate(X_, round, G_);
    for (std::size_t i = 0; i < X_.agents(); ++i) {
      std::ranges::fill(mixed_.row(i), 0);
      for (const auto& [j, weight] : W_.weights.row(i))
        for (std::size_t c = 0; c < X_.dim(); ++c)
          mixed_.row(i)[c] += weight * (X_.row(j)[c] - eta_ * G_.row(j)[c]);
      traffic_.add(8 * X_.dim(), W_.weights.row(i).size() - 1);
    }
    std::swap(X_, mixed_);
  }
  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return traffic_; }
  std::vector<NamedRows> state() override { return {{"X", &X_}}; }

 private:
  const Mixing& W_;
  double eta_;
  GradientEstimator gradients_;
  Rows X_, G_, mixed_;
  Traffic traffic_;
};

int main() {
  const auto config = parse_config(
      "algorithm = {name = 'dsgd', rounds = 300, step = 0.2, batch = 20, consensus = 1}\n"
      "network = {agents = 5, graph = 'ring', mixing = 'metropolis'}\nrun = {evaluate = 'log:8'}",
      "own method");
  const auto make = [](const AlgorithmSetup& setup) {
    return std::make_unique<MixedDescent>(setup);
  };
  Trainer trainer(assemble(config, {.algorithm = make}));
  train(trainer, {{.after_evaluation = [](const MetricsRow& row) {
          std::printf("round %3u  loss %.4f\n", row.round, row.loss);
        }}});

  // A checkpoint of it goes on with the same bits.
  Trainer half(assemble(config, {.algorithm = make})), other(assemble(config, {.algorithm = make}));
  for (int round = 0; round < 150; ++round) half.step();
  other.restore(half.checkpoint(), "half");
  train(other);
  const bool same =
      mean_row(other.algorithm().iterates()) == mean_row(trainer.algorithm().iterates());
  return same && trainer.measure().loss < 0.6 ? 0 : 1;
}
