// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/core/rng.hpp"
#include "porter/data/dataset.hpp"

namespace porter {

/// Fisher and Yates.
void shuffle_rows(std::span<std::uint32_t> rows, RngStream& rng);

/// log of a Gamma(alpha, 1) variate, finite even where the variate itself would underflow.
double log_gamma_variate(double alpha, RngStream& rng);

/// A point of the simplex drawn from the symmetric Dirichlet(alpha) law.
std::vector<double> dirichlet_variate(std::size_t size, double alpha, RngStream& rng);

/// How many rows of each class an agent with class proportions `p` takes: `wanted` in all, at most
/// left[c] of class c, as near to wanted * p as what is left allows. wanted <= sum of left.
std::vector<std::size_t> take_counts(std::span<const double> p, std::size_t wanted,
                                     std::span<const std::size_t> left);

/// Equal shares with class proportions p_i ~ Dirichlet(alpha) for each agent i: in ascending order
/// the agents take m = floor(rows / agents) rows each from what is left.
std::vector<std::uint32_t> dirichlet_rows(const Dataset& data, std::size_t agents, double alpha,
                                          std::uint64_t seed);

}  // namespace porter
