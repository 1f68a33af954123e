// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/core/rng.hpp"

namespace porter {

/// log of a Gamma(alpha, 1) variate, finite even where the variate itself would underflow.
double log_gamma_variate(double alpha, RngStream& rng);

/// A point of the simplex drawn from the symmetric Dirichlet(alpha) law.
std::vector<double> dirichlet_variate(std::size_t size, double alpha, RngStream& rng);

/// How many rows of each class an agent with class proportions `p` takes: `wanted` in all, at most
/// left[c] of class c, as near to wanted * p as what is left allows. wanted <= sum of left.
std::vector<std::size_t> take_counts(std::span<const double> p, std::size_t wanted,
                                     std::span<const std::size_t> left);

}  // namespace porter
