// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

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

/// The t with P(|T| > t) = alpha for Student's T.
double student_quantile(double alpha, double freedom);

}  // namespace porter
