// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace porter {

/// The slope of f at x along coordinate j, by central differences.
template <class Function>
double slope_of(const Function& f, std::vector<double> x, std::size_t j, double h = 1e-6) {
  const double keep = x[j];
  x[j] = keep + h;
  const double up = f(x);
  x[j] = keep - h;
  return (up - f(x)) / (2 * h);
}

}  // namespace porter
