// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include "core/vector_math.hpp"
#include "team.hpp"

namespace porter {

/// Of a method that has momentum of its own.
inline GradientOptions without_momentum(GradientOptions options) {
  options.momentum = 1;
  return options;
}

/// Of a method that adds the noise itself, too.
inline GradientOptions plain_gradients(GradientOptions options) {
  options.noise_stddev = 0;
  return without_momentum(std::move(options));
}

/// out = grad l(x; z) - keep grad l(past; z), weighted; `scratch` is as long as x.
inline void recursive_difference(const Model& model, const Sample& z, double keep,
                                 std::span<const double> x, std::span<const double> past,
                                 std::span<double> scratch, std::span<double> out) {
  weighted_loss(model, x, z, out);
  if (keep == 0) return;
  weighted_loss(model, past, z, scratch);
  axpy(-keep, scratch, out);
}

/// Recursive momentum (STORM: Cutkosky, Orabona: Momentum-Based Variance Reduction in Non-Convex
/// SGD, 2019), with both gradients of a round on the same samples Z:
///
///   M <- G(X; Z) + (1 - beta) (M - G(X_prev; Z)),   in the first round M = G(X; Z)
///
/// Its private form clips what one sample z has in both gradients as one vector, so that what is
/// released has the sensitivity of a mean of clipped gradients; the rest is computed from releases:
///
///   M <- (1/b) sum_z clip(g(X; z) - (1 - beta) g(X_prev; z)) + N(0, sigma^2 I) + (1 - beta) M
class RecursiveGradients {
 public:
  RecursiveGradients(const Problem& problem, const GradientOptions& options, ThreadPool& pool)
      : model_(problem.model),
        beta_(options.momentum),
        gradients_(problem, without_momentum(options), pool),
        previous_(problem.agents, model_.dim()),
        M_(previous_) {}

  // As those of GradientEstimator.
  void begin(std::span<const std::uint32_t> agents, const Rows&, std::uint32_t round) {
    gradients_.begin_terms(agents, round);
  }
  void prepare(std::size_t agent, std::span<const double> x, std::uint32_t round,
               std::span<double> g) {
    const auto past = previous_.row(agent);
    const auto scratch = scratch_.take();
    scratch->resize(x.size());
    gradients_.prepare_clipped(
        agent, round,
        [&](const Sample& z, std::span<double> term) {
          recursive_difference(model_, z, keep(round), x, past, *scratch, term);
        },
        g);
    std::ranges::copy(x, past.begin());
  }
  bool releases_again(std::size_t) const { return false; }
  void release(const Tile& tile, std::uint32_t round, std::span<double> g) {
    gradients_.release(tile, round, g);
    const auto m = tile.of(M_.row(tile.agent));
    for (std::size_t j = 0; j < g.size(); ++j) g[j] = m[j] = keep(round) * m[j] + g[j];
  }
  void append_state(std::vector<NamedRows>& state) {
    state.push_back({"M", &M_});
    state.push_back({"X_previous", &previous_});
  }

 private:
  double keep(std::uint32_t round) const { return round == 1 ? 0 : 1 - beta_; }

  const Model& model_;
  double beta_;
  GradientEstimator gradients_;
  Rows previous_, M_;
  ScratchPool<std::vector<double>> scratch_;
};

}  // namespace porter
