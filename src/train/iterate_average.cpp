// SPDX-License-Identifier: Apache-2.0
#include "iterate_average.hpp"

namespace porter {
namespace {

// By squaring, whose bits are the same everywhere, unlike those of std::pow.
double power(double base, std::uint32_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace

double ema_weight(double decay, std::uint32_t round) {
  return (1 - decay) / (1 - power(decay, round));
}

void update_ema(double decay, std::uint32_t round, const Rows& X,
                std::span<const std::uint32_t> rows, ThreadPool& pool, Rows& average) {
  const double weight = ema_weight(decay, round);
  for_each_tile(pool, rows, X.dim(), [&](const Tile& tile) {
    const auto x = tile.of(X.row(tile.agent));
    const auto a = tile.of(average.row(tile.agent));
    for (std::size_t j = 0; j < a.size(); ++j) a[j] += weight * (x[j] - a[j]);
  });
}

}  // namespace porter
