// SPDX-License-Identifier: Apache-2.0
#include "adaptive.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "porter/core/error.hpp"

namespace porter {
namespace {

// Halving h from s / 12 to s / 24 takes about (3/4) / (12 * 144) = 4.3e-4 off a sum that is nearly
// Gaussian: the cells add h^2 / 6 to each step's variance s^2. A third of the change is left.
constexpr double kStart = 12, kEnough = 5e-4;
constexpr int kCoarsest = -12, kFinest = 8, kCellsPerOctave = 64;

constexpr std::array kBothWays = {Direction::forward, Direction::reverse};
constexpr std::array kSymmetrised = {Direction::symmetrised};

}  // namespace

Quantity epsilon_at(double delta) {
  return [delta](std::span<const LossPhase> phases) { return composed_epsilon(phases, delta); };
}

std::span<const Direction> certified_directions(std::span<const Mechanism> mechanisms) {
  if (any_of_kind(mechanisms, Mechanism::Kind::poisson_add_remove)) return kBothWays;
  return kSymmetrised;
}

double tail_for(std::span<const Mechanism> mechanisms, double delta) {
  return 1e-6 * delta / total_steps(mechanisms);
}

GridSpec grid_for(std::span<const Mechanism> mechanisms, double tail, int refinement) {
  double squares = 0, steps = 0;
  for (const auto& mechanism : mechanisms) {
    const auto times = static_cast<double>(mechanism.steps);
    squares += times * std::pow(mechanism.loss_scale(), 2);
    steps += times;
  }
  return {.step = std::ldexp(std::sqrt(squares / steps) / kStart, -refinement),
          .cells_per_octave = kCellsPerOctave << std::max(0, refinement),
          .tail = tail};
}

std::optional<double> on_grid(std::span<const Mechanism> mechanisms,
                              std::span<const Direction> directions, const GridSpec& grid,
                              const Quantity& quantity) {
  double largest = 0;
  for (const auto direction : directions) {
    std::vector<LossPhase> phases;
    for (const auto& mechanism : mechanisms)
      phases.push_back({mechanism.step_loss(direction, grid), mechanism.steps});
    const auto value = quantity(phases);
    if (!value) return std::nullopt;
    largest = std::max(largest, *value);
  }
  return largest;
}

Refined refined(std::span<const Mechanism> mechanisms, std::span<const Direction> directions,
                double tail, const Quantity& quantity) {
  const auto at = [&](int refinement) {
    return on_grid(mechanisms, directions, grid_for(mechanisms, tail, refinement), quantity);
  };
  int refinement = 0;
  auto value = at(refinement);
  while (!value && refinement > kCoarsest) value = at(--refinement);
  require(value.has_value(), ErrorKind::numeric,
          "the privacy loss needs too many grid points: too many steps for this noise");
  // While h is above the scale s, cells add about s h to each step's variance and the error falls
  // like sqrt(h): 2.4 times the last change may be left. Below, it falls like h^2.
  constexpr double kUnsettled = 3;
  std::optional<double> uncertainty;
  while (refinement < kFinest) {
    const auto finer = at(refinement + 1);
    if (!finer) break;
    const double change = std::abs(*value - *finer);
    uncertainty = kUnsettled * change;
    if (*finer > *value) break;  // its own rounding costs more than it gains
    ++refinement;
    value = finer;
    if (change > kEnough * *value) continue;
    uncertainty = change;
    break;
  }
  if (!uncertainty) {
    const auto coarser = at(refinement - 1);
    uncertainty = coarser ? kUnsettled * (*coarser - *value) : *value;
  }
  return {*value, std::abs(*uncertainty), refinement};
}

}  // namespace porter
