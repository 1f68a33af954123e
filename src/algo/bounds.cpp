// SPDX-License-Identifier: Apache-2.0
#include "algo/bounds.hpp"

#include <cmath>
#include <limits>

#include "core/vector_math.hpp"

namespace porter {
namespace {

constexpr double kRoom = 1000;
// Without clipping: for iterates in units of the start, for gradients as they come.
constexpr double kUnclippedIterate = 1e12, kUnclippedTracker = 1e18, kUnclippedApart = 1e6;

// Of the agent that shares noise with the most others.
double noise_deviation(const GradientOptions& gradients) {
  if (!gradients.pairs) return gradients.noise_stddev;
  const double own = gradients.noise_stddev, shared = gradients.pair_stddev;
  const auto most = static_cast<double>(most_pairs(*gradients.pairs));
  return std::sqrt(own * own + most * (shared * shared));
}

}  // namespace

PublicBounds public_bounds(const AlgorithmSetup& setup) {
  const auto& gradients = setup.gradients;
  const double start = 1 + std::sqrt(squared_norm(setup.start));
  if (gradients.clip.kind == Clip::Kind::none)
    return {.iterate = kUnclippedIterate * start,
            .tracker = kUnclippedTracker * start,
            .scale = start,
            .apart_factor = kUnclippedApart};
  const double root_d = std::sqrt(static_cast<double>(setup.start.size()));
  const double most = setup.gathers ? 1 / gradients.momentum : 1;
  const double g = most * (gradients.clip.tau + noise_deviation(gradients) * (root_d + 10));
  const double rounds = setup.rounds > 0 ? setup.rounds : std::numeric_limits<std::uint32_t>::max();
  const double scale = start + setup.eta * rounds * g;
  const auto omega = setup.compressor.omega(setup.start.size());
  const double rho = setup.compressor.rho(setup.start.size()).value_or(1 / (1 + omega.value_or(0)));
  const double room = kRoom * std::sqrt(static_cast<double>(setup.problem.agents)) / rho;
  return {.iterate = room * scale, .tracker = room * g, .scale = scale, .apart_factor = kRoom};
}

}  // namespace porter
