// SPDX-License-Identifier: Apache-2.0
// DDP-SRM: distributed stochastic recursive momentum under secure aggregation (the baseline of
// Table 1 of the PORTER paper; the estimator is STORM's, Cutkosky and Orabona 2019):
//
//   v <- mean_i g_i + (1 - beta) v + N(0, sigma^2 I),   x <- x - eta v,
//   g_i = (1/b) sum_z clip(grad l(x_t; z) - (1 - beta) grad l(x_{t-1}; z))
//
// The noise is added once, to the mean of all agents, so every agent trusts the aggregation: this
// is central differential privacy, not local.
//
// clang-format off
// | paper      | code            | meaning
// |------------|-----------------|---------------------------------------------------
// | x_t, x_t-1 | x_, x_previous_ | the common iterate and the one before
// | v_t        | v_              | recursive momentum
// | g_i        | G_              | what agent i puts into the aggregation
// | beta       | beta_           | 1: plain SGD;  the first round has no past
// clang-format on
#include <array>

#include "core/normal_noise.hpp"
#include "core/vector_math.hpp"
#include "methods.hpp"
#include "recursive_gradients.hpp"

namespace porter {
namespace {

class DdpSrm final : public Algorithm {
 public:
  explicit DdpSrm(const AlgorithmSetup& setup)
      : model_(setup.problem.model),
        team_(setup),
        clip_(setup.gradients.clip),
        noise_stddev_(setup.gradients.noise_stddev),
        seed_(setup.gradients.seed),
        eta_(setup.eta),
        beta_(setup.gradients.momentum),
        gradients_(setup.problem, plain_gradients(setup.gradients), setup.pool),
        x_(repeat_row(setup.start, 1)),
        x_previous_(x_),
        v_(1, x_.dim()),
        G_(setup.problem.agents, x_.dim()),
        scratch_(G_) {}

  void step(std::uint32_t round) override {
    const double keep = round == 1 ? 0 : 1 - beta_;
    team_.for_each([&](std::size_t agent) { contribute(agent, round, keep); });
    for_each_tile(team_.pool, 1, x_.dim(), [&](const Tile& tile) {
      const auto v = tile.of(v_.row(0)), x = tile.of(x_.row(0));
      for (double& value : v) value *= keep;
      for (std::size_t agent = 0; agent < G_.agents(); ++agent)
        axpy(1.0 / static_cast<double>(G_.agents()), tile.of(G_.row(agent)), v);
      add_noise(tile, round, v);
      std::copy(x.begin(), x.end(), tile.of(x_previous_.row(0)).begin());
      axpy(-eta_, v, x);
    });
    const std::uint64_t dense = sizeof(float) * x_.dim() * G_.agents();
    traffic_.message_bytes += dense;
    traffic_.link_bytes += 2 * dense;  // and x comes back
  }

  const Rows& iterates() const override { return x_; }
  Traffic& traffic() override { return traffic_; }
  std::vector<NamedRows> state() override {
    return {{"x", &x_}, {"x_previous", &x_previous_}, {"v", &v_}};
  }

 private:
  // g_i. Both gradients are of one sample, and the bracket is clipped as a whole.
  void contribute(std::size_t agent, std::uint32_t round, double keep) {
    gradients_.prepare_terms(
        agent, round,
        [&](const Sample& sample, std::span<double> bracket) {
          recursive_difference(model_, sample, keep, x_.row(0), x_previous_.row(0),
                               scratch_.row(agent), bracket);
          clip_.apply(bracket);
        },
        G_.row(agent));
    for (double& value : G_.row(agent)) value = static_cast<float>(value);  // what is sent
  }

  void add_noise(const Tile& tile, std::uint32_t round, std::span<double> v) const {
    if (noise_stddev_ == 0) return;
    std::array<float, kTileSize> noise;
    const auto aggregator = static_cast<std::uint32_t>(G_.agents());
    NormalNoise(seed_, aggregator, round).fill(tile.first, std::span(noise).first(v.size()));
    for (std::size_t j = 0; j < v.size(); ++j) v[j] += noise_stddev_ * double{noise[j]};
  }

  const Model& model_;
  Team team_;
  Clip clip_;
  double noise_stddev_;
  std::uint64_t seed_;
  double eta_, beta_;
  GradientEstimator gradients_;
  Rows x_, x_previous_, v_, G_, scratch_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Algorithm> make_ddp_srm(const AlgorithmSetup& setup) {
  return std::make_unique<DdpSrm>(setup);
}

}  // namespace porter
