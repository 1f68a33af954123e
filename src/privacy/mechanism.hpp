// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loss_grid.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {

/// Which curve of a mechanism is composed. Mechanisms that are their own mirror image have one.
enum class Direction { forward, reverse, symmetrised };

/// A checked event as the accountant sees it.
struct Mechanism {
  enum class Kind { gaussian, poisson_add_remove, poisson_replace, fixed_replace };
  Kind kind = Kind::gaussian;
  double q = 1;   ///< Poisson rate, or b / m
  double mu = 0;  ///< sensitivity of one step / noise; for poisson_replace that of one record
  std::uint64_t steps = 0;

  /// q sqrt(exp(mu^2) - 1), the deviation of the loss of one step, or mu where that is smaller.
  double loss_scale() const;
  LossPair pair() const;
  /// From outside, for upper bounds. Nothing where the grid cannot hold the losses, or their masses
  /// are lost in rounding.
  std::optional<StepLoss> step_loss(Direction direction, const GridSpec& grid) const;
  /// From inside, for lower bounds: of the explicit pair of data sets behind pair().
  std::optional<StepLoss> inner_step_loss(Direction direction, const GridSpec& grid) const;
};

/// Throws Error{usage} for events whose values are out of range or make no sense together. Events
/// without steps are dropped.
std::vector<Mechanism> checked_mechanisms(std::span<const PrivacyEvent> events);

/// Throws Error{usage} unless 0 < delta < 1.
void check_delta(double delta);

bool any_of_kind(std::span<const Mechanism> mechanisms, Mechanism::Kind kind);
bool all_gaussian(std::span<const Mechanism> mechanisms);
bool without_noise(std::span<const Mechanism> mechanisms);

/// Gaussian steps compose exactly: mu^2 = sum T_i mu_i^2.
double total_mu(std::span<const Mechanism> mechanisms);
/// The same as if every record were in every batch, which bounds all samplers.
double unamplified_mu(std::span<const Mechanism> mechanisms);
double total_steps(std::span<const Mechanism> mechanisms);

}  // namespace porter
