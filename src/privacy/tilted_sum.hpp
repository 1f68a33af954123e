// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compose.hpp"

namespace porter {

/// K(t) = sum_i T_i log E[exp(t L_i); L_i finite].
double log_moment(std::span<const LossPhase> phases, double t);

/// How far rounding may have put it off: that of the masses (StepLoss::curve_error), of sums of as
/// many terms as there are nodes, and of exponentials of t times the largest loss.
double log_moment_error(std::span<const LossPhase> phases, double t);

/// The steps' StepLoss::loss_error together. Covers the rounding of epsilon, which is below the sum
/// of the largest losses, too.
double loss_error(std::span<const LossPhase> phases);

/// log of the largest (1 - exp(-x)) exp(-t x), x >= 0: the gain of the hockey stick over Chernoff's
/// bound (Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy, 2020, Prop.
/// 12).
double log_largest_weight(double t);

/// What may lie outside of the window, of the tilted distribution, at either end.
inline constexpr double kOutside = 1e-10;

/// The distribution of the sum S of all losses, tilted: r(s) = Pr[S = s] exp(t s - K(t)).
///
/// Why tilt: with t near the saddle point the masses that decide delta are the large ones of r,
/// so the absolute error of the transform, about T units of rounding, becomes a relative error of
/// delta, however small delta is.
///
/// The transform makes the sum periodic. By Chernoff's bound at most kOutside of r lies above the
/// window and as much below it; what wraps upwards only raises delta, what wraps downwards is
/// counted in `error`.
struct TiltedSum {
  double tilt = 0;             ///< t
  double log_scale = 0;        ///< K(t)
  double step = 0;             ///< h
  std::int64_t first = 0;      ///< masses[j] belongs to the loss (first + j) h
  std::vector<double> masses;  ///< r

  /// For every e:  delta(e) <= (1 + slack) exp(K(t) - t e) (sum_{s > e} r(s) w(s - e) + error)
  ///                           + infinite,   w(x) = exp(-t x) (1 - exp(-x)).
  double error = 0;
  double slack = 0;       ///< rounding of the masses of single steps, compounded, and of this sum
  double infinite = 0;    ///< mass at infinite loss
  double loss_error = 0;  ///< the above bounds delta(e + loss_error)
};

/// Nothing when the window needs more than `most_points`.
std::optional<TiltedSum> tilted_sum(std::span<const LossPhase> phases, double tilt,
                                    std::size_t most_points);

}  // namespace porter
