// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "loss_grid.hpp"

namespace porter {

/// The same step, several times. All phases of a composition share one grid step.
struct LossPhase {
  StepLoss loss;
  std::uint64_t steps = 0;
};

/// Past this many grid points a composition is refused: half a second and 100 MB.
inline constexpr std::size_t kMaxGridPoints = std::size_t{1} << 20;

/// An upper bound on the smallest epsilon >= 0 with
///   delta(epsilon) = E[(1 - exp(epsilon - S))_+] <= delta,   S the sum of all losses,
/// for the discretised losses, all rounding included. Nothing when the grid is too fine.
std::optional<double> composed_epsilon(std::span<const LossPhase> phases, double delta);

/// Chernoff's bound on the same: without a transform, some per cent larger. May be infinite.
double chernoff_epsilon(std::span<const LossPhase> phases, double delta);

/// A lower bound on it for losses discretised from inside (InnerGrid): 0 where there is no better.
double composed_epsilon_below(std::span<const LossPhase> phases, double delta);

/// An upper bound on delta(epsilon).
std::optional<double> composed_delta(std::span<const LossPhase> phases, double epsilon);

}  // namespace porter
