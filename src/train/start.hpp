// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "porter/config/config.hpp"

namespace porter {

/// x0 as algorithm.start says; model_start.hpp has that of model:FILE.
std::vector<double> starting_point(const Config& config, const Dataset& train, std::size_t dim);

}  // namespace porter
