// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace porter {

/// What find_others may write behind its result.
inline constexpr std::size_t kOthersSlack = 16;

/// Writes the columns j with row[j] != background to `columns`, ascending, and returns how many.
/// There must be room for kOthersSlack more. NaN differs from everything, also from a background
/// that is NaN; -0.0 equals 0.0.
std::size_t find_others(std::span<const float> row, float background, std::uint32_t* columns);

}  // namespace porter
