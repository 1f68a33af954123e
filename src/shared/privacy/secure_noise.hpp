// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "privacy/discrete_gaussian.hpp"

namespace porter {

/// The L2 sensitivity of a vector after each coordinate went to the nearest multiple of the grid:
/// either neighbour moves by at most grid/2 per coordinate, so  sensitivity + sqrt(dim) grid.
double sensitivity_with_rounding(double sensitivity, double grid, std::size_t dim);

/// How far the computed mean of clipped samples, (1/divisor) sum of `terms` vectors no longer than
/// `clip`, is from the exact one: floating-point sums depend on their order and operands
/// (Casacuberta, Shoemate, Vadhan, Wagaman: Widespread Underestimation of Sensitivity; CCS 2022).
/// A sensitivity grows by twice this.
double averaging_error(double clip, std::size_t terms, std::size_t divisor);

/// The largest power of two with  sqrt(dim) grid <= 2^-16 sensitivity  and  grid <= 2^-10 stddev,
/// or where stddev / grid would leave the sampler's range the smallest that fits.
double choose_grid(double stddev, double sensitivity, std::size_t dim);

/// What (epsilon, delta) turns into when the mechanism is within `distance` (total variation, all
/// rounds together) of the one accounted for: delta + (1 + exp(epsilon)) distance.
double delta_with_distance(double epsilon, double delta, double distance);

/// Gaussian noise for release:  y = grid (round(g / grid) + N),  N discrete Gaussian with parameter
/// stddev / grid. Every coordinate of y is a multiple of the grid, exactly, so its low bits tell
/// nothing (Mironov: On Significance of the Least Significant Bits; CCS 2012). Whatever is computed
/// from y, rounding to float included, is post-processing.
class SecureNoise {
 public:
  /// Noise that pairs of agents share, beside that of their own.
  struct Shared {
    double stddev = 0;           ///< 0: none
    std::size_t most_pairs = 0;  ///< of one agent
    std::size_t vectors = 1;     ///< of noise that a round draws: one per agent, one per pair
  };

  /// `sensitivity` is that of the exact mean, e.g. 2 clip / batch; what rounding errors of the
  /// norms add is added here. Error{usage} unless all are positive and finite; Error{privacy} where
  /// no grid keeps the rounding below 1e-3 of it, or suits the noise that is shared.
  SecureNoise(double stddev, double sensitivity, std::size_t dim, const Shared& shared);
  SecureNoise(double stddev, double sensitivity, std::size_t dim)
      : SecureNoise(stddev, sensitivity, dim, Shared{}) {}

  /// Draws the noise of one pair, in steps of the grid: `lower` += v and `higher` -= v, exactly.
  void share(std::span<double> lower, std::span<double> higher, NoiseStream& noise) const;
  /// One end of the same, where the other is in another process and draws from the same stream:
  /// `steps` += sign v, + at the lower agent and - at the higher.
  void share_end(std::span<double> steps, double sign, NoiseStream& noise) const;

  /// Replaces g by y, with the steps in it that the agent shares with others, if any.
  /// Error{privacy}, with g as it was, where g is not finite (NaN too) or too large for the grid to
  /// be exact in double. -0.0 counts as 0.0, and y holds no -0.0.
  void release(std::span<double> g, NoiseStream& noise, std::span<const double> shared = {}) const;

  double grid() const { return grid_; }

  /// What the accountant of the continuous Gaussian mechanism takes in place of stddev and
  /// sensitivity; stddev is smaller by at most 2.4e-6 relative, sensitivity larger by at most 1e-3.
  double accounted_stddev() const;
  double accounted_sensitivity() const;
  /// Of one release, all coordinates, from the mechanism so accounted; with noise that is shared of
  /// all releases of the round, of which the shares of one agent are a part.
  double statistical_distance() const;

 private:
  template <class Add>
  void draw_shared(NoiseStream& noise, const Add& add) const;

  double stddev_, sensitivity_;
  std::size_t dim_;
  double grid_;
  DiscreteGaussian integers_;
  std::optional<DiscreteGaussian> shared_;
  std::size_t vectors_;
};

}  // namespace porter
