// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "porter/model/saved_model.hpp"

namespace porter {

/// The coordinates of the parameters with these names, "W2,b2", ascending; of none where there are
/// no names. Error{usage} says which names there are.
std::vector<std::uint32_t> dense_positions(std::string_view names,
                                           std::span<const ParameterBlock> blocks);

}  // namespace porter
