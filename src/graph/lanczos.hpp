// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace porter {

/// A symmetric tridiagonal matrix: `diagonal` of size m, `beside` of size m - 1.
struct Tridiagonal {
  std::vector<double> diagonal, beside;
};

/// The largest eigenvalue, by bisection on Sturm counts, to the last few bits of |T|. At least one
/// row.
double largest_eigenvalue(const Tridiagonal& t);
/// |s_m| of the unit eigenvector s of its largest eigenvalue `value`.
double last_component(const Tridiagonal& t, double value);

/// An estimate of an end of a spectrum: an eigenvalue lies within `residual` of `value`.
struct RitzValue {
  double value = 0, residual = 0;
};
struct SpectrumEnds {
  RitzValue low, high;
  std::size_t steps = 0;
};

/// y = A x, with A symmetric.
using SymmetricOperator = std::function<void(std::span<const double> x, std::span<double> y)>;

/// The smallest and the largest eigenvalue of P A P, P = I - 11'/n, on the vectors of sum zero.
/// Stops when `enough` accepts what it found, when the space is exhausted, or after `most_steps`.
/// At least 2 nodes.
SpectrumEnds lanczos_ends(std::size_t nodes, const SymmetricOperator& apply, std::size_t most_steps,
                          const std::function<bool(const SpectrumEnds&)>& enough);

}  // namespace porter
