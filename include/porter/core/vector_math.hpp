// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace porter {

/// The sums below run over eight interleaved partial sums, so the compiler may use vectors without
/// changing the result, and the rounding error is an eighth of that of one running sum.

double dot(std::span<const double> a, std::span<const double> b);
double squared_norm(std::span<const double> x);
/// |a - b|^2
double squared_distance(std::span<const double> a, std::span<const double> b);
bool all_finite(std::span<const double> x);

/// x *= a
void scale(double a, std::span<double> x);
/// y <- a y + b x
void scale_and_add(double a, double b, std::span<const float> x, std::span<double> y);
/// y += a x
void axpy(double a, std::span<const double> x, std::span<double> y);

}  // namespace porter
