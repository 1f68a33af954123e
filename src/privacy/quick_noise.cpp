// SPDX-License-Identifier: Apache-2.0
#include "privacy/quick_noise.hpp"

#include <algorithm>
#include <cmath>

#include "adaptive.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kPrecision = 5e-3;

// Whether the certified epsilon is at most the target. The accountant's own grid follows the
// deviation of the loss and is far finer than rare large losses need, so we start much coarser.
// Every grid's value holds, so the first one at or below the target decides. The distance to the
// truth falls like h^2 on fine grids and like sqrt(h) on coarse ones, so that at most 2.5 times the
// last change is left: a value that would stay above the target after 4 times that decides, too.
// So does a change of 1/4 %. The coarsest grids may stand still far from the truth; they only say
// yes.
bool keeps(PrivacyEvent event, double z, double target, double delta) {
  event.noise_multiplier = z;
  const auto mechanisms = checked_mechanisms(std::span(&event, 1));
  constexpr int kFirst = -18, kTrusted = -8, kLast = 4;
  std::optional<double> before;
  for (int refinement = kFirst; refinement <= kLast; ++refinement) {
    const auto value =
        on_grid(mechanisms, grid_for(mechanisms, delta, refinement), epsilon_at(delta));
    if (value && *value <= target) return true;
    if (before) {
      if (!value) return false;  // too fine a grid
      const double change = *before - *value;
      const bool decided = *value - 4 * change > target || change <= kPrecision / 2 * *value;
      if (decided && refinement >= kTrusted) return false;
    }
    before = value;
  }
  return epsilon(event, delta).upper <= target;
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

  const auto enough = [&](double z) { return keeps(event, z, target, delta); };
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
