// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compose.hpp"
#include "mechanism.hpp"

namespace porter {

/// What is computed from a composition: epsilon at a delta, or delta at an epsilon.
using Quantity = std::function<std::optional<double>(std::span<const LossPhase>)>;

Quantity epsilon_at(double delta);

/// The directions whose largest value holds for all neighbours.
std::span<const Direction> certified_directions(std::span<const Mechanism> mechanisms);

/// The grid of refinement 0: h = s / 12 with s the root mean square of the losses' scales. Each
/// refinement halves h and the cells far out. What all steps may send to +infinity is a millionth
/// of delta.
GridSpec grid_for(std::span<const Mechanism> mechanisms, double delta, int refinement);

/// All phases of a composition by what discretises one step; nothing where it fails.
using Discretise = std::function<std::optional<StepLoss>(const Mechanism&)>;
std::optional<std::vector<LossPhase>> phases_of(std::span<const Mechanism> mechanisms,
                                                const Discretise& discretise);

/// The largest value over the certified directions, on one grid. Nothing when it is too fine.
std::optional<double> on_grid(std::span<const Mechanism> mechanisms, const GridSpec& grid,
                              const Quantity& quantity);

/// A value from above, on a grid that was refined until it moved by less than 5e-4 relative, or
/// as far as grids go.
struct Refined {
  double value = 0;
  int refinement = 0;  ///< of the grid that gave it
};
/// Nothing where no grid of bounded size serves. `first` <= 0 is the refinement to begin with:
/// where the grids above it are known to be too fine.
std::optional<Refined> refined(std::span<const Mechanism> mechanisms, double delta,
                               const Quantity& quantity, int first = 0);

/// An upper bound on epsilon that needs no transform: Chernoff's, or that without amplification.
double plain_epsilon(std::span<const Mechanism> mechanisms, double delta);

/// Analytic.
Bounds single_step_epsilon(const Mechanism& mechanism, double delta);

/// With the lower bound to a certified epsilon of these mechanisms: what explicit data sets give
/// away.
EpsilonInterval interval_below(const Refined& upper, std::span<const Mechanism> mechanisms,
                               double delta);

}  // namespace porter
