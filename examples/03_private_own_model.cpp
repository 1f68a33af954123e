// SPDX-License-Identifier: Apache-2.0
// Your model, your data, and PORTER-DP with secret noise; called again, it goes on where it was.
#include <cmath>
#include <cstdio>

#include "porter/porter.hpp"

using namespace porter;

class RobustLine final : public Model {  // y = x[0] + x[1] t, with the Cauchy loss of the residual
  std::size_t dim() const override { return 2; }
  double loss(std::span<const double> x, const Sample& z, std::span<double> g) const override {
    const double r = predict(x, z) - z.label;
    if (!g.empty()) g[0] = r / (1 + r * r), g[1] = g[0] * z.values[0];
    return std::log1p(r * r) / 2;
  }
  double predict(std::span<const double> x, const Sample& z) const override {
    return x[0] + x[1] * z.values[0];
  }
};

int main() {
  std::vector<Dataset> hospitals(5);
  for (RngStream rng(7, Draw::test, 0, 0); auto& own : hospitals)
    for (own.features = 1; own.rows() < 2000;) {
      own.values.push_back(static_cast<float>(rng.normal()));
      own.labels.push_back(0.5F + 2 * own.values.back());
    }
  const auto config = parse_config(
      "algorithm = {name = 'porter-dp', rounds = 400, step = 0.1, consensus = 0.3, batch = 20}\n"
      "network = {agents = 5, graph = 'ring'}\nprivacy = {epsilon = 1, noise = 'secure'}",
      "line");
  Trainer trainer(assemble(config, {join_agents(hospitals), std::make_shared<RobustLine>()}));
  train_in("private-line", trainer);
  const auto x = mean_row(trainer.algorithm().iterates());
  const auto privacy = trainer.privacy().statement(trainer.releases());
  std::printf("y = %.2f + %.2f t; epsilon %.3f, delta %g: %s\n", x[0], x[1], privacy.epsilon->upper,
              *privacy.delta, privacy.guaranteed ? "certified" : "none");
  return std::abs(x[1] - 2) < 0.2 && privacy.guaranteed ? 0 : 1;
}
