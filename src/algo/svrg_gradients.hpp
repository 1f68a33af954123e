// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/vector_math.hpp"
#include "team.hpp"

namespace porter {

/// The snapshot-corrected gradients of SoteriaFL-SVRG at the common point x, w the snapshot:
///
///   G_i = (1/b) sum_z [clip(grad l(x; z)) - clip(grad l(w; z))] + F_i + N(0, sigma^2 I),
///   F_i = (1/m) sum over all of the agent's samples of clip(grad l(w; z))
///
/// w becomes x in the first round and then with the probability `snapshot` in each, by a public
/// coin. Replacing a record moves the first part by up to 4 tau / b if it is drawn, and F_i by up
/// to 2 tau / m in every round: the accountant charges both.
class SvrgGradients {
 public:
  explicit SvrgGradients(const AlgorithmSetup& setup)
      : problem_(setup.problem),
        team_(setup),
        clip_(setup.gradients.clip),
        seed_(setup.gradients.seed),
        snapshot_(setup.soteriafl.snapshot),
        gradients_(setup.problem, setup.gradients, setup.pool),
        w_(1, problem_.model.dim()),
        F_(problem_.agents, w_.dim()),
        scratch_(F_) {}

  void estimate(const Rows& x, std::uint32_t round, Rows& G) {
    if (take_snapshot(round)) {
      w_ = x;
      team_.for_each([&](std::size_t agent) { sum_all_samples(agent); });
    }
    team_.for_each([&](std::size_t agent) {
      const auto at_snapshot = scratch_.row(agent);
      gradients_.prepare_terms(
          agent, round,
          [&](const Sample& sample, std::span<double> difference) {
            weighted_loss(problem_.model, x.row(0), sample, difference);
            clip_.apply(difference);
            weighted_loss(problem_.model, w_.row(0), sample, at_snapshot);
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

  void append_state(std::vector<NamedRows>& state) {
    state.push_back({"w", &w_});
    state.push_back({"F", &F_});
    gradients_.append_state(state);
  }

 private:
  bool take_snapshot(std::uint32_t round) const {
    return round == 1 || RngStream(seed_, Draw::snapshot, 0, round).uniform() < snapshot_;
  }

  void sum_all_samples(std::size_t agent) {
    const auto F = F_.row(agent), sample_gradient = scratch_.row(agent);
    const std::size_t m = problem_.samples_per_agent();
    std::fill(F.begin(), F.end(), 0.0);
    for (std::size_t z = 0; z < m; ++z) {
      if (problem_.is_void(agent, z)) continue;
      weighted_loss(problem_.model, w_.row(0), problem_.sample(agent, z), sample_gradient);
      clip_.apply(sample_gradient);
      axpy(1.0 / static_cast<double>(m), sample_gradient, F);
    }
  }

  Problem problem_;
  Team team_;
  Clip clip_;
  std::uint64_t seed_;
  double snapshot_;
  GradientEstimator gradients_;
  Rows w_, F_, scratch_;
};

}  // namespace porter
