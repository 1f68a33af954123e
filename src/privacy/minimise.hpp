// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace porter {

/// The argument in [low, high] that nearly minimises f, which should be unimodal there: golden
/// section on the logarithm of the argument, to a fifth. Callers need no more: every
/// argument gives a valid bound.
template <class Function>
double minimise_on_log_scale(const Function& f, double low, double high) {
  constexpr double kGolden = 0.6180339887498949, kClose = 0.2;
  double a = std::log(low), b = std::log(high);
  double x1 = b - kGolden * (b - a), x2 = a + kGolden * (b - a);
  double f1 = f(std::exp(x1)), f2 = f(std::exp(x2));
  while (b - a > kClose) {
    if (f1 <= f2) {
      b = x2, x2 = x1, f2 = f1;
      x1 = b - kGolden * (b - a), f1 = f(std::exp(x1));
    } else {
      a = x1, x1 = x2, f1 = f2;
      x2 = a + kGolden * (b - a), f2 = f(std::exp(x2));
    }
  }
  return std::exp(f1 <= f2 ? x1 : x2);
}

}  // namespace porter
