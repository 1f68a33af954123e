// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "porter/data/dataset.hpp"

namespace porter {

/// The rows of `data` in an order such that agent i holds the i-th run of m = floor(rows / agents)
/// rows; the at most agents - 1 rows left over belong to nobody and are not in it, so its size is
/// agents * m. `split`: shuffled | contiguous | by-label (sorted by class, stable) | dirichlet:A
/// (class proportions of each agent drawn from the Dirichlet(A) law). Error{usage} for an unknown
/// split or more agents than rows.
std::vector<std::uint32_t> partition_rows(const Dataset& data, std::size_t agents,
                                          std::string_view split, std::uint64_t seed);

}  // namespace porter
