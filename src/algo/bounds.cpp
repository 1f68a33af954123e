// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/bounds.hpp"

#include <cmath>
#include <limits>

#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

constexpr double kRoom = 1000;
// Without clipping: for iterates in units of the start, for gradients as they come.
constexpr double kUnclippedIterate = 1e12, kUnclippedTracker = 1e18, kUnclippedApart = 1e6;

double norm_of(const Decoded& message) {
  return std::sqrt(squared_norm(std::span<const float>(message.values)));
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
  const double g = gradients.clip.tau + gradients.noise_stddev * (root_d + 10);
  const double rounds = setup.rounds > 0 ? setup.rounds : std::numeric_limits<std::uint32_t>::max();
  const double scale = start + setup.eta * rounds * g;
  const double rho = setup.compressor.rho(setup.start.size()).value_or(1);
  const double room = kRoom * std::sqrt(static_cast<double>(setup.problem.agents)) / rho;
  return {.iterate = room * scale, .tracker = room * g, .scale = scale, .apart_factor = kRoom};
}

void check_sent(const Decoded& message, double bound, std::size_t agent, std::uint32_t step) {
  const double norm = norm_of(message);
  require(norm <= bound, ErrorKind::numeric, "agent ", agent, " has diverged: its message of step ",
          step, " has norm ", norm, ", and the config allows at most ", bound,
          "; a smaller algorithm.step or algorithm.consensus may help");
}

void check_received(const Decoded& message, double bound, std::uint32_t step) {
  check_received(norm_of(message), bound, step);
}

void check_received(double norm, double bound, std::uint32_t step) {
  require(norm <= bound, ErrorKind::protocol, "a vector of norm ", norm, " in step ", step,
          "; clip, step size, noise and rounds of the config allow at most ", bound);
}

}  // namespace porter
