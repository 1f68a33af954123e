// SPDX-License-Identifier: Apache-2.0
// A mean and a deviation that are given, and so not measured.
#pragma once

#include <string_view>

#include "porter/data/load.hpp"

namespace porter {

/// Error{usage} where `options.moments` are no finite mean and deviation above 0, or are for no
/// scale that has them. `place` stands before the text.
void check_moments(const DataOptions& options, std::string_view place);

}  // namespace porter
