// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "porter/core/rng.hpp"

namespace porter {

/// Replaces `out` by k different numbers of {0, ..., n - 1} in ascending order, every subset
/// equally likely. The draw is Floyd's: for j = n - k, ..., n - 1 let t = rng.below(j + 1); take t
/// unless it is taken already, else j. So k draws are enough, and anyone who holds the stream gets
/// the same subset.
void choose(std::size_t k, std::size_t n, RngStream& rng, std::vector<std::uint32_t>& out);

}  // namespace porter
