// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace porter {

/// The sums below run over eight interleaved partial sums, so they can use vectors and the rounding
/// error is an eighth of that of one running sum. Same bits on every instruction set; NaN and
/// infinities go their way as in plain loops, here and below.

double dot(std::span<const double> a, std::span<const double> b);
double dot(std::span<const float> a, std::span<const float> b);
double squared_norm(std::span<const double> x);
double squared_norm(std::span<const float> x);
/// |a - b|^2
double squared_distance(std::span<const double> a, std::span<const double> b);
bool all_finite(std::span<const double> x);

/// x *= a
void scale(double a, std::span<double> x);
/// y <- a y + b x
void scale_and_add(double a, double b, std::span<const float> x, std::span<double> y);
/// y += a x, computed in the type of y
void axpy(double a, std::span<const double> x, std::span<double> y);
void axpy(double a, std::span<const float> x, std::span<double> y);
void axpy(float a, std::span<const float> x, std::span<float> y);

/// y = a x, rounded once
void scaled_copy(double a, std::span<const double> x, std::span<double> y);
void scaled_copy(double a, std::span<const double> x, std::span<float> y);
void scaled_copy(float a, std::span<const float> x, std::span<float> y);

/// y = x
void widen(std::span<const float> x, std::span<double> y);

/// Every x becomes exp(x), to within two units in the last place; beyond +-708 it stays at
/// exp(+-708), infinities too; NaN stays NaN. Our own, since the bits of the C library's differ
/// from machine to machine.
void exp_in_place(std::span<double> x);
/// The same in float, beyond +-87 as at +-87.
void exp_in_place(std::span<float> x);
/// One number, with the same bits.
double exact_exp(double x);

/// Every x becomes tanh(x), to within four units in the last place, +-1 for infinities; NaN stays
/// NaN, and -0 becomes 0.
void tanh_in_place(std::span<double> x);
void tanh_in_place(std::span<float> x);

}  // namespace porter
