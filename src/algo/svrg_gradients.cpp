// SPDX-License-Identifier: Apache-2.0
#include "svrg_gradients.hpp"

#include <algorithm>

#include "core/vector_math.hpp"

namespace porter {

SvrgGradients::SvrgGradients(const AlgorithmSetup& setup)
    : problem_(setup.problem),
      team_(setup),
      clip_(setup.gradients.clip),
      seed_(setup.gradients.seed),
      snapshot_(setup.soteriafl.snapshot),
      gradients_(setup.problem, setup.gradients, setup.pool),
      w_(1, problem_.model.dim()),
      F_(problem_.agents, w_.dim()),
      scratch_(F_) {}

void SvrgGradients::estimate(const Rows& x, std::uint32_t round, Rows& G) {
  if (take_snapshot(round)) {
    w_ = x;
    team_.for_each([&](std::size_t agent) { sum_all_samples(agent); });
  }
  team_.for_each([&](std::size_t agent) {
    const auto at_snapshot = scratch_.row(agent);
    gradients_.prepare_terms(
        agent, round,
        [&](const Sample& sample, std::span<double> difference) {
          problem_.model.loss(x.row(0), sample, difference);
          clip_.apply(difference);
          problem_.model.loss(w_.row(0), sample, at_snapshot);
          clip_.apply(at_snapshot);
          axpy(-1.0, at_snapshot, difference);
        },
        G.row(agent));
    axpy(1.0, F_.row(agent), G.row(agent));
  });
  team_.for_each_tile(G.dim(), [&](const Tile& tile) {
    gradients_.release(tile, round, tile.of(G.row(tile.agent)));
  });
}

void SvrgGradients::append_state(std::vector<NamedRows>& state) {
  state.push_back({"w", &w_});
  state.push_back({"F", &F_});
  gradients_.append_state(state);
}

bool SvrgGradients::take_snapshot(std::uint32_t round) const {
  return round == 1 || RngStream(seed_, Draw::snapshot, 0, round).uniform() < snapshot_;
}

void SvrgGradients::sum_all_samples(std::size_t agent) {
  const auto F = F_.row(agent), sample_gradient = scratch_.row(agent);
  const std::size_t m = problem_.samples_per_agent();
  std::fill(F.begin(), F.end(), 0.0);
  for (std::size_t z = 0; z < m; ++z) {
    if (problem_.is_void(agent, z)) continue;
    problem_.model.loss(w_.row(0), problem_.sample(agent, z), sample_gradient);
    clip_.apply(sample_gradient);
    axpy(1.0 / static_cast<double>(m), sample_gradient, F);
  }
}

}  // namespace porter
