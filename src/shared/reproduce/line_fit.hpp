// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace porter {

/// y = scale x^slope, by least squares between the logarithms.
struct PowerLaw {
  double slope = 0, scale = 0;
  double low = 0, high = 0;  ///< 95 % confidence interval of the slope (Student's t)
  std::size_t points = 0;
};

/// Of the pairs that are positive and finite; nothing for fewer than three of them, or if they all
/// have the same x: then there is no interval.
std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> y);

/// "agrees" if the interval holds the exponent; else "steeper" or "flatter", by the interval alone.
std::string slope_verdict(const PowerLaw& law, double exponent);

/// Single runs of one value of x, which differ by their seeds.
struct Replicates {
  std::vector<double> x, y;
};

/// Whether y against x is a line at all between the logarithms.
struct Linearity {
  /// Between neighbouring values, from the means of the logarithms.
  std::vector<double> local_slopes;
  /// The lack-of-fit F test: how likely means so far from the line are by the spread of the seeds
  /// alone. Nothing without two runs of one value, or for fewer than three values.
  std::optional<double> p;

  /// A line fits unless its slope changes by more than half the exponent from one part to another
  /// and this is not the spread of the seeds (p < 0.05, or nothing to tell it by). A bend that is
  /// certain but slight is no reason to refuse, nor is a rough one that may be chance.
  bool fits(double exponent) const;
};

/// By increasing x; pairs without logarithms are left out, values with the same x are one.
Linearity test_line(std::span<const Replicates> values, const PowerLaw& law);

/// The t with P(|T| > t) = alpha for Student's T.
double student_quantile(double alpha, double freedom);

}  // namespace porter
