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

GridSpec grid_for(std::span<const Mechanism> mechanisms, double delta, int refinement) {
  double squares = 0;
  for (const auto& mechanism : mechanisms)
    squares += static_cast<double>(mechanism.steps) * std::pow(mechanism.loss_scale(), 2);
  const double steps = total_steps(mechanisms);
  return {.step = std::ldexp(std::sqrt(squares / steps) / kStart, -refinement),
          .cells_per_octave = kCellsPerOctave << std::max(0, refinement),
          .tail = 1e-6 * delta / steps};
}

std::optional<std::vector<LossPhase>> phases_of(std::span<const Mechanism> mechanisms,
                                                const Discretise& discretise) {
  std::vector<LossPhase> phases;
  for (const auto& mechanism : mechanisms) {
    auto loss = discretise(mechanism);
    if (!loss) return std::nullopt;
    phases.push_back({std::move(*loss), mechanism.steps});
  }
  return phases;
}

std::optional<double> on_grid(std::span<const Mechanism> mechanisms, const GridSpec& grid,
                              const Quantity& quantity) {
  double largest = 0;
  for (const auto direction : certified_directions(mechanisms)) {
    const auto phases =
        phases_of(mechanisms, [&](const Mechanism& m) { return m.step_loss(direction, grid); });
    const auto value = phases ? quantity(*phases) : std::nullopt;
    // What is no number, or is none but infinity, is no answer.
    if (!value || !(*value >= 0) || std::isinf(*value)) return std::nullopt;
    largest = std::max(largest, *value);
  }
  return largest;
}

std::optional<Refined> refined(std::span<const Mechanism> mechanisms, double delta,
                               const Quantity& quantity, int first) {
  const auto at = [&](int refinement) {
    return on_grid(mechanisms, grid_for(mechanisms, delta, refinement), quantity);
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
      on_grid(mechanisms, grid_for(mechanisms, delta, 0),
              [&](std::span<const LossPhase> phases) { return chernoff_epsilon(phases, delta); });
  return chernoff ? std::min(*chernoff, unamplified) : unamplified;
}

}  // namespace porter
