// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/gradients.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "porter/core/normal_noise.hpp"
#include "porter/core/rng.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {

GradientEstimator::GradientEstimator(const Problem& problem, const GradientOptions& options,
                                     ThreadPool& pool)
    : problem_(problem),
      options_(options),
      pool_(pool),
      scratch_(problem.agents, problem.model.dim()),
      scale_(problem.agents, 1.0) {
  if (!options_.secure) return;
  for (std::size_t agent = 0; agent < problem.agents; ++agent) {
    secret_sampling_.emplace_back();
    secret_noise_.emplace_back();
  }
}

void GradientEstimator::estimate(const Rows& X, std::uint32_t round, Rows& G) {
  pool_.parallel_for(problem_.agents, [&](std::size_t agent) {
    prepare(agent, X.row(X.agents() == 1 ? 0 : agent), round, G.row(agent));
  });
  for_each_tile(pool_, G.agents(), G.dim(),
                [&](const Tile& tile) { release(tile, round, tile.of(G.row(tile.agent))); });
}

void GradientEstimator::prepare(std::size_t agent, std::span<const double> x, std::uint32_t round,
                                std::span<double> g) {
  scale_[agent] = clipped_mean(agent, x, round, g);
  // A secret stream is drawn from in order, so its noise is added to the whole row at once.
  if (!options_.secure || options_.noise_stddev == 0) return;
  scale(std::exchange(scale_[agent], 1.0), g);
  options_.secure->release(g, secret_noise_[agent]);
}

void GradientEstimator::release(const Tile& tile, std::uint32_t round, std::span<double> g) const {
  if (options_.secure || options_.noise_stddev == 0) return scale(scale_[tile.agent], g);
  std::array<float, kTileSize> noise;
  NormalNoise(options_.seed, static_cast<std::uint32_t>(tile.agent), round)
      .fill(tile.first, std::span(noise).first(g.size()));
  scale_and_add(scale_[tile.agent], options_.noise_stddev, std::span(noise).first(g.size()), g);
}

std::vector<std::uint32_t> GradientEstimator::draw_batch(std::size_t agent, std::uint32_t round) {
  std::vector<std::uint32_t> batch;
  if (options_.secure) {
    options_.sampler.draw(secret_sampling_[agent], batch);
  } else {
    RngStream rng(options_.seed, Draw::batch, static_cast<std::uint32_t>(agent), round);
    options_.sampler.draw(rng, batch);
  }
  return batch;
}

// g becomes the mean up to the factor that is returned.
double GradientEstimator::clipped_mean(std::size_t agent, std::span<const double> x,
                                       std::uint32_t round, std::span<double> g) {
  const auto sample_gradient = scratch_.row(agent);
  const double weight = 1.0 / static_cast<double>(options_.sampler.batch());
  std::fill(g.begin(), g.end(), 0.0);
  for (const auto index : draw_batch(agent, round)) {
    problem_.model.loss(x, problem_.sample(agent, index), sample_gradient);
    if (options_.clip_target == ClipTarget::sample) options_.clip.apply(sample_gradient);
    axpy(weight, sample_gradient, g);
  }
  if (options_.clip_target == ClipTarget::batch) options_.clip.apply(g);
  return 1;
}

}  // namespace porter
