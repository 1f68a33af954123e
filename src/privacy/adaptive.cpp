// SPDX-License-Identifier: Apache-2.0
#include "adaptive.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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
    for (const auto& mechanism : mechanisms) {
      auto loss = mechanism.step_loss(direction, grid);
      if (!loss) return std::nullopt;
      phases.push_back({std::move(*loss), mechanism.steps});
    }
    const auto value = quantity(phases);
    // What is no number, or is none but infinity, is no answer.
    if (!value || !(*value >= 0) || std::isinf(*value)) return std::nullopt;
    largest = std::max(largest, *value);
  }
  return largest;
}

std::optional<Refined> refined(std::span<const Mechanism> mechanisms,
                               std::span<const Direction> directions, double tail,
                               const Quantity& quantity, int first) {
  const auto at = [&](int refinement) {
    return on_grid(mechanisms, directions, grid_for(mechanisms, tail, refinement), quantity);
  };
  int refinement = first;
  auto value = at(refinement);
  while (!value && refinement > kCoarsest) value = at(--refinement);
  if (!value) return std::nullopt;
  const int finest = refinement < first ? refinement : kFinest;  // the next finer one failed
  while (refinement < finest) {
    const auto finer = at(refinement + 1);
    // Too fine, or its own rounding costs more than it gains.
    if (!finer || *finer > *value) break;
    const double change = *value - *finer;
    ++refinement;
    value = finer;
    if (change <= kEnough * *value) break;
  }
  return Refined{*value, refinement};
}

double plain_epsilon(std::span<const Mechanism> mechanisms, double delta) {
  const double unamplified = gaussian_epsilon(delta, unamplified_mu(mechanisms)).above;
  const auto chernoff =
      on_grid(mechanisms, certified_directions(mechanisms),
              grid_for(mechanisms, tail_for(mechanisms, delta), 0),
              [&](std::span<const LossPhase> phases) { return chernoff_epsilon(phases, delta); });
  return chernoff ? std::min(*chernoff, unamplified) : unamplified;
}

}  // namespace porter
