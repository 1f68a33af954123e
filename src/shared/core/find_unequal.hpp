// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace porter {

/// Writes the columns j with row[j] != background to `columns`, ascending, and returns how many.
/// There must be room for row.size() of them, whatever is found. NaN differs from everything, also
/// from a background that is NaN; -0.0 equals 0.0.
std::size_t find_unequal(std::span<const float> row, float background, std::uint32_t* columns);

}  // namespace porter
