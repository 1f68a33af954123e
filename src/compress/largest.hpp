// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace porter {

/// Keeps of x its k entries of largest magnitude, in their order, and replaces `positions` by where
/// they stood. Of equal magnitudes the smaller position comes first. 1 <= k <= x.size(), x finite;
/// -0.0 is as large as 0.0 and keeps its sign.
/// Vectors that are used again are not allocated again.
void keep_largest(std::size_t k, std::vector<float>& x, std::vector<std::uint32_t>& positions);

}  // namespace porter
