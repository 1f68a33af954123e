// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/vector_math.hpp"
#include "sanitized.hpp"
#include "toy_network.hpp"

namespace porter {

/// The worst |mean V - mean G| / |mean G| that ten looks see in so many rounds of four agents
/// with noise.
inline double worst_tracker_drift(std::size_t features, const char* compressor, double gamma,
                                  Precision precision, std::uint32_t rounds) {
  if (kSanitized) rounds /= 10;
  const auto toy = ToyNetwork{.agents = 4,
                              .compressor = compressor,
                              .clip_target = ClipTarget::sample,
                              .rows_per_agent = 3,
                              .features = features,
                              .batch = 1,
                              .eta = 0.01,
                              .gamma = gamma,
                              .noise_stddev = 1,
                              .precision = precision}
                       .build();
  double worst = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    if (round % (rounds / 10) != 0) {
      toy->algorithm->step(round);
      continue;
    }
    const auto mean_G = mean_row(toy->next_gradients(round));
    toy->algorithm->step(round);
    const double scale = squared_norm(mean_G);
    worst = std::max(worst, std::sqrt(squared_distance(mean_row(toy->state("V")), mean_G) / scale));
    worst = std::max(worst, *toy->algorithm->tracking_error() / std::sqrt(scale));
  }
  std::printf("%s of %zu: worst relative drift %.3g\n", compressor, features, worst);
  return worst;
}

}  // namespace porter
