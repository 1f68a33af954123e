// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "porter/algo/problem.hpp"
#include "porter/core/rows.hpp"
#include "porter/core/thread_pool.hpp"
#include "porter/privacy/clip.hpp"

namespace porter {

enum class ClipTarget {
  sample,  ///< clip each sample's gradient, then average: what a privacy guarantee needs
  batch,   ///< average, then clip: what porter-gc does; not private
};

struct GradientOptions {
  std::size_t batch =
      1;  ///< samples per agent and round, drawn without replacement; m: all of them
  Clip clip = {};
  ClipTarget clip_target = ClipTarget::sample;
  double noise_stddev =
      0;  ///< of the Gaussian noise added to each coordinate of the (clipped) mean
  std::uint64_t seed = 1;
};

/// The stochastic gradients of Algorithm 1:
///   sample:  G_i = (1/b) sum_z clip(grad l(x_i; z)) + N(0, noise_stddev^2 I)
///   batch:   G_i = clip((1/b) sum_z grad l(x_i; z)) + N(0, noise_stddev^2 I)
class GradientEstimator {
 public:
  GradientEstimator(const Problem& problem, const GradientOptions& options, ThreadPool& pool);

  /// Row i of G from row i of X, or from the only row of X where all agents share one point.
  void estimate(const Rows& X, std::uint32_t round, Rows& G);

  /// The samples that an agent uses in a round, ascending.
  std::vector<std::uint32_t> draw_batch(std::size_t agent, std::uint32_t round) const;

 private:
  void clipped_mean(std::size_t agent, std::span<const double> x, std::uint32_t round,
                    std::span<double> g);
  void add_noise(std::size_t agent, std::uint32_t round, std::span<double> g);

  Problem problem_;
  GradientOptions options_;
  ThreadPool& pool_;
  Rows scratch_;
};

}  // namespace porter
