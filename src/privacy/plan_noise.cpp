// SPDX-License-Identifier: Apache-2.0
#include "plan_noise.hpp"

#include <algorithm>
#include <cmath>

#include "adaptive.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kPrecision = 5e-3;

// Certified, on the coarsest grid whose halving moves epsilon by less than 1/4 %; half of that
// moves z by less than 1/4 % too. Rare losses need few cells where q is small, and there the
// accountant's own grid, which follows the deviation of the loss, is far finer than that.
double rough_epsilon(PrivacyEvent event, double z, double delta) {
  event.noise_multiplier = z;
  const auto mechanisms = checked_mechanisms(std::span(&event, 1));
  const auto directions = certified_directions(mechanisms);
  const double tail = tail_for(mechanisms, delta);
  constexpr int kFirst = -10, kLast = 4;
  std::optional<double> best;
  for (int refinement = kFirst; refinement <= kLast; ++refinement) {
    const auto value =
        on_grid(mechanisms, directions, grid_for(mechanisms, tail, refinement), epsilon_at(delta));
    if (!value) {
      if (best) break;  // too fine
      continue;
    }
    const bool settled = best && *best - *value <= kPrecision / 2 * *value;
    best = best ? std::min(*best, *value) : *value;
    if (settled) break;
  }
  return best ? *best : epsilon(event, delta).upper;
}

}  // namespace

double quick_noise_multiplier(const PrivacyEvent& event, double target, double delta,
                              double at_least) {
  auto unamplified = event;
  unamplified.sampler = Sampler::full;
  // Sampling never needs more noise than that.
  const double most = calibrate_noise_multiplier(unamplified, target, delta);
  if (event.sampler == Sampler::full || event.batch == event.records) return most;
  const double rate = static_cast<double>(event.batch) / static_cast<double>(event.records);
  const double seen = -std::expm1(static_cast<double>(event.steps) * std::log1p(-rate));
  require(seen > delta, ErrorKind::usage, "delta = ", delta, " is not below ", seen,
          ", the probability that ", event.steps, " rounds with batch ", event.batch,
          " use a record at all: they could publish it without noise; expected a smaller delta");

  const auto enough = [&](double z) { return rough_epsilon(event, z, delta) <= target; };
  double high = std::min(at_least > 0 ? at_least : 1.0, most), low = high;
  if (enough(high)) {
    if (at_least > 0) return high;
    while (enough(low /= 2)) high = low;
  } else {
    const double factor = at_least > 0 ? 1.25 : 2;
    while ((high *= factor) < most && !enough(high)) low = high;
    high = std::min(high, most);
  }
  while (high > low * (1 + kPrecision)) {
    const double middle = std::sqrt(low * high);
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace porter
