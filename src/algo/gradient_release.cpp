// SPDX-License-Identifier: Apache-2.0
// What becomes of clipped means, tile by tile: noise, that of pairs too, and a low-pass behind it.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/normal_noise.hpp"
#include "core/vector_math.hpp"
#include "porter/algo/gradients.hpp"
#include "porter/core/rng.hpp"

namespace porter {

void GradientEstimator::release(const Tile& tile, std::uint32_t round, std::span<double> g) {
  add_noise(tile, round, g);
  if (options_.momentum == 1) return;
  const auto m = tile.of(M_.row(tile.agent));
  for (std::size_t j = 0; j < g.size(); ++j)
    g[j] = m[j] = (1 - options_.momentum) * m[j] + options_.momentum * g[j];
}

void GradientEstimator::append_state(std::vector<NamedRows>& state) {
  if (options_.momentum != 1) state.push_back({"M", &M_});
}

void GradientEstimator::add_noise(const Tile& tile, std::uint32_t round,
                                  std::span<double> g) const {
  const auto& products = products_[tile.agent];
  products.write(tile.first, scales_[tile.agent], g);
  const double left = products.empty() ? scales_[tile.agent] : 1;  // of the factor
  const double deviation = noise_of(tile.agent, round);
  if (options_.secure || deviation == 0) return scale(left, g);
  std::array<float, kTileSize> buffer;
  const auto noise = std::span(buffer).first(g.size());
  NormalNoise(options_.seed, static_cast<std::uint32_t>(tile.agent), round).fill(tile.first, noise);
  scale_and_add(left, deviation, noise, g);
  if (shares_.empty()) return;
  for (const auto& [pair, stddev] : shares_[tile.agent]) {
    NormalNoise(options_.seed, pair, round, Draw::pair).fill(tile.first, noise);
    axpy(stddev, noise, g);
  }
}

void GradientEstimator::release(const Tile& tile, std::uint32_t round, std::span<float> g) const {
  products_[tile.agent].write(tile.first, scales_[tile.agent], g);
  const double deviation = noise_of(tile.agent, round);
  if (options_.secure || deviation == 0) return;
  std::array<float, kTileSize> buffer;
  const auto noise = std::span(buffer).first(g.size());
  NormalNoise(options_.seed, static_cast<std::uint32_t>(tile.agent), round).fill(tile.first, noise);
  axpy(static_cast<float>(deviation), noise, g);
  if (shares_.empty()) return;
  for (const auto& [pair, stddev] : shares_[tile.agent]) {
    NormalNoise(options_.seed, pair, round, Draw::pair).fill(tile.first, noise);
    axpy(static_cast<float>(stddev), noise, g);
  }
}

}  // namespace porter
